extern __shared__ int pool[];

__device__ int sumPool(int count) {
    __shared__ int carry;
    if (threadIdx.x == 0) carry = 3;
    __syncthreads();
    int sum = carry;
    for (int i = 0; i < count; i++) sum += pool[i];
    return sum;
}

__device__ float scratchSum(float x) {
    __shared__ alignas(64) float lanes[64];
    lanes[threadIdx.x] = x;
    __syncthreads();
    return lanes[threadIdx.x ^ 5];
}
