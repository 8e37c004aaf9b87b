#pragma once
template <class F> __global__ void for_each(int count, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) f(i);
}
__device__ int blend(int a, int b);
