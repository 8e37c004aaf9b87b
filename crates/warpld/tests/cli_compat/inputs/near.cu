extern __device__ int foo(long);
__global__ void kn(int *p) { *p = foo((long)*p); }
