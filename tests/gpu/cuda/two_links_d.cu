// Second link of `two_links`: a value that stays.
__device__ int state_times = 2;
__device__ int answer_times(int x) { return x * state_times; }
