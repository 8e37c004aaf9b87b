// Second link of `two_links`: another answer, and another variable named state.
__device__ int state = 2;
__device__ int answer(int x) { return x * state; }
