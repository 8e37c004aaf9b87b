__global__ void foo_kernel(int *p) { *p = 1; }
extern "C" __global__ void both(int *p) { *p = 1; }
