// Barriers, warp operations, atomics, launch bounds and switch tables.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ __noinline__ int pick(int k, int v) {
    switch (k) {
    case 0: return v * 3; case 1: return v ^ 5; case 2: return v - 9; case 3: return v * v;
    case 4: return v / 7; case 5: return v % 11; case 6: return v << 2; case 7: return ~v;
    default: return k;
    }
}

__global__ void __launch_bounds__(128, 2) bounded(int *p, unsigned long long *q) {
    int v = __shfl_xor_sync(~0u, p[threadIdx.x], 1);
    asm volatile("bar.sync 3, 64;");
    if (__any_sync(~0u, v > 3)) atomicAdd_system(p, pick(v, threadIdx.x));
    atomicCAS(q, 1ull, 2ull);
    __syncthreads();
    p[threadIdx.x] = cg::tiled_partition<8>(cg::this_thread_block()).shfl(v, 0);
}
