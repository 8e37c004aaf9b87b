// Transfers that announce themselves, and the two ways to wait for them; by thread, warp and block.
#include "step.h"

__device__ __noinline__ void tell(uint64_t *flag, uint64_t value, int pe) {
    nvshmemx_signal_op(flag, value, NVSHMEM_SIGNAL_ADD, pe);
}

__device__ __noinline__ uint64_t hear(uint64_t *flag, uint64_t value) {
    return nvshmem_signal_wait_until(flag, NVSHMEM_CMP_GE, value);
}

__global__ void announce(float *to, const float *from, size_t count, uint64_t *flag) {
    nvshmemx_float_put_signal_nbi_block(to, from, count, flag, 1, NVSHMEM_SIGNAL_SET, neighbour(1));
    if (threadIdx.x == 0) {
        hear(flag, 1);
    }
    __syncthreads();
    nvshmemx_float_put_signal_warp(to + count, to, count, flag, 2, NVSHMEM_SIGNAL_ADD, neighbour(1));
    tell(flag + 1, steps_done, neighbour(-1));
}

__global__ void poll(int *cells, size_t count, size_t *found) {
    __shared__ int status[8];
    if (threadIdx.x < 8) {
        status[threadIdx.x] = 0;
    }
    __syncthreads();
    *found = nvshmem_int_wait_until_any(cells, count, status, NVSHMEM_CMP_NE, 0);
    if (nvshmem_int_test(cells, NVSHMEM_CMP_GT, width)) {
        nvshmem_int_wait_until_all(cells, count, nullptr, NVSHMEM_CMP_LT, 100);
    }
    nvshmemx_barrier_all_block();
}
