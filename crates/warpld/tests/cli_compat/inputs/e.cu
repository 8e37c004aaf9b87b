extern __device__ int bar(int);
__global__ void ke(int *p) { *p = bar(*p); }
__global__ void kf(int *p) { *p = bar(*p) + 1; }
