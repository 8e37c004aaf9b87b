// Static and dynamic shared memory in functions that several kernels share.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "shared";

__device__ int block_sum(int value);
__device__ int reverse(int value);
__device__ int through_dynamic(int value, int slots);
__global__ void other_kernel(int *out);
extern __shared__ int pool[];

__global__ void sum_kernel(int *out) {
    __shared__ int mine[64];
    mine[threadIdx.x] = 100 * threadIdx.x;
    int total = block_sum(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = total + mine[63 - threadIdx.x];
}

__global__ void all_kernel(int *out, int slots) {
    __shared__ double wide[64];
    int i = threadIdx.x;
    wide[i] = i * 0.5;
    pool[i] = -1;
    __syncthreads();
    int back = reverse(i);
    int dynamic = through_dynamic(i, slots);
    out[i] = back * 1000 + dynamic + int(2 * wide[63 - i]) * 1000000;
}

void check() {
    Buffer<int> out(64);
    sum_kernel<<<1, 64>>>(out);
    RAN();
    auto got = out.get();
    for (int i = 0; i < 64; i++) EXPECT_AT("sum", i, got[i], 63 * 32 + 100 * (63 - i));
    all_kernel<<<1, 64, 64 * sizeof(int)>>>(out, 64);
    RAN();
    got = out.get();
    for (int i = 0; i < 64; i++)
        EXPECT_AT("all", i, got[i], (63 - i) * 1000 + (i + 1) % 64 + (63 - i) * 1000000);
    other_kernel<<<1, 64, 64 * sizeof(int)>>>(out);
    RAN();
    got = out.get();
    for (int i = 0; i < 64; i++) EXPECT_AT("other", i, got[i], 63 * 32 + 63 - i + (i + 1) % 64);

    cudaFuncAttributes sum{}, all{}, other{};
    OK(cudaFuncGetAttributes(&sum, sum_kernel));
    OK(cudaFuncGetAttributes(&all, all_kernel));
    OK(cudaFuncGetAttributes(&other, other_kernel));
    EXPECT(sum.sharedSizeBytes >= 64 * 4 + 64 * 4, true);
    EXPECT(all.sharedSizeBytes >= 64 * 8 + 64 * 4, true);
    EXPECT(other.sharedSizeBytes >= 2 * 64 * 4, true);
    // More dynamic memory than the default limit, at the end of the window.
    OK(cudaFuncSetAttribute(all_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    all_kernel<<<1, 64, 200 << 10>>>(out, 64);
    RAN();
    EXPECT(out.get()[5], 58 * 1000 + 6 + 58 * 1000000);
}
