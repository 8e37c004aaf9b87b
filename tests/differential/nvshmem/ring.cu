// Single elements, blocks of memory and atomics, around a ring of processing elements.
#include "step.h"

__device__ unsigned long long steps_done;
__constant__ int width = 4;

__device__ int neighbour(int distance) {
    int all = nvshmem_n_pes();
    return (nvshmem_my_pe() + distance + all) % all;
}

__device__ __noinline__ long tally(long *counters, unsigned *masks, int pe) {
    long old = nvshmem_long_atomic_fetch_add(counters, width, pe);
    nvshmem_uint_atomic_xor(masks, 1u << (old & 31), pe);
    if (nvshmem_long_atomic_compare_swap(counters + 1, old, old + 1, pe) == old) {
        nvshmem_long_atomic_inc(counters + 2, pe);
    }
    return nvshmem_long_atomic_swap(counters + 3, old, pe);
}

__global__ void ring(int *cells, double *rows, size_t count) {
    int to = neighbour(1);
    nvshmem_int_p(cells, threadIdx.x, to);
    cells[1] = nvshmem_int_g(cells + 2, neighbour(-1));
    nvshmem_fence();
    nvshmem_double_put_nbi(rows, rows + count, count, to);
    nvshmem_double_get(rows + 2 * count, rows, count, neighbour(-2));
    nvshmem_quiet();
    nvshmem_barrier_all();
}

__global__ void strided(short *cells, long long *wide, size_t count) {
    nvshmem_short_iput(cells, cells + count, 2, 3, count, neighbour(1));
    nvshmem_longlong_iget(wide, wide + count, 1, width, count, neighbour(-1));
    if (void *there = nvshmem_ptr(wide, neighbour(1))) {
        *static_cast<long long *>(there) = 1;
    }
}

__global__ void atomics(long *counters, unsigned *masks, float *last) {
    long seen = tally(counters, masks, neighbour(1));
    nvshmem_float_atomic_set(last, float(seen), neighbour(2));
    atomicAdd(&steps_done, static_cast<unsigned long long>(seen));
}
