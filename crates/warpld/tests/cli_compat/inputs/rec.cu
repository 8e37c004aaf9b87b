__device__ int rec(int x) { return x < 2 ? x : rec(x - 1) * rec(x - 2); }
__global__ void kr(int *p) { *p = rec(*p); }
