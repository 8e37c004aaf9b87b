extern __device__ int foo(int);
__shared__ int big[13000];
__global__ void ksm(int *p) { big[threadIdx.x] = foo(*p); __syncthreads(); *p = big[threadIdx.x ^ 1]; }
