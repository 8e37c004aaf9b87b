// Second file of `shared`: the functions and one more kernel.
extern __shared__ int pool[];

__device__ __noinline__ int block_sum(int value) {
    __shared__ int partial[64];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

__device__ __noinline__ int reverse(int value) {
    __shared__ int turned[64];
    turned[threadIdx.x] = value;
    __syncthreads();
    return turned[blockDim.x - 1 - threadIdx.x];
}

__device__ __noinline__ int through_dynamic(int value, int slots) {
    pool[(threadIdx.x + slots - 1) % slots] = value;
    __syncthreads();
    return pool[threadIdx.x];
}

__global__ void other_kernel(int *out) {
    int i = threadIdx.x;
    out[i] = block_sum(i) + reverse(i) + through_dynamic(i, 64);
}
