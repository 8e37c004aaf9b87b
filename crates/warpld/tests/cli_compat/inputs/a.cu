extern __device__ int foo(int);
__device__ int gv = 5;
__global__ void ka(int *p) { *p = foo(*p) + gv; }
