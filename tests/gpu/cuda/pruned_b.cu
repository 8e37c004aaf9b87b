// Second file of `pruned`.
__device__ int dead_function(int x) { return x * 17; }
__device__ int two = 2;
__device__ int kept_by_pointer(int x) { return x + two; }
__global__ void dead_in_second_file(int *out) { *out = dead_function(3) + two; }
