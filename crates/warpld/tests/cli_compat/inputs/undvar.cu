extern __device__ int missing_variable;
__global__ void kv(int *p) { *p = missing_variable; }
