__constant__ int factor = 3;
__device__ int scale(int x) { return x * factor; }
