extern __device__ int foo(int);
extern __device__ int missing_function(int);
extern __device__ int missing_variable;
__global__ void ku(int *p) { *p = foo(*p) + missing_function(2) + missing_variable; }
