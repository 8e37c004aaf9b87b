// Warp operations, barriers, groups, clusters.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void votes(int *p, const int *q, int k, unsigned mask) {
    int a = q[threadIdx.x];
    int r = __shfl_sync(mask, a, k) + __shfl_up_sync(~0u, a, 1) + __shfl_down_sync(~0u, a, k) + __shfl_xor_sync(~0u, a, 3, 8);
    r += __ballot_sync(~0u, a > 3) + __any_sync(mask, a > k) + __all_sync(~0u, a < k) + __activemask();
    r += __match_any_sync(~0u, a);
    int pred;
    r += __match_all_sync(~0u, r, &pred) + pred;
    r += __match_any_sync(~0u, (long long)a * k);
    r += __reduce_add_sync(~0u, a) + __reduce_max_sync(~0u, a) + __reduce_and_sync(mask, (unsigned)a) + __reduce_min_sync(~0u, (unsigned)a);
    double d = __shfl_sync(~0u, (double)a, k);
    asm volatile("{.reg .pred q; shfl.sync.bfly.b32 %0|q, %1, 5, 31, -1; @q add.s32 %0, %0, 1;}" : "=r"(a) : "r"(r));
    int e;
    asm volatile("{.reg .pred q; elect.sync %0|q, -1; @q add.s32 %0, %0, 3;}" : "=r"(e));
    __syncwarp(mask);
    p[threadIdx.x] = r + (int)d + a + e;
    int lane, t;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(t));
    p[k] = lane + t + clock() + (int)clock64() + (int)(long long)p;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(*(long long *)(p + 8)));
}
extern "C" __global__ void barriers(int *p, int k) {
    __shared__ int s[64];
    s[threadIdx.x] = k;
    __syncthreads();
    p[0] = __syncthreads_count(s[k] > 3);
    p[1] = __syncthreads_and(s[k + 1] > 3);
    p[2] = __syncthreads_or(s[k + 2] > 3);
    asm volatile("bar.sync 1, 64; bar.arrive 2, 96; bar.sync %0, %1;" ::"r"(k), "r"(k * 32));
    asm volatile("barrier.sync %0;" ::"r"(k + 3));
    p[3] = s[0];
}
template <int N> __device__ void tile(int *p, int k) {
    auto t = cg::tiled_partition<N>(cg::this_thread_block());
    int v = cg::reduce(t, p[threadIdx.x], cg::plus<int>());
    v += cg::inclusive_scan(t, v * k, cg::less<int>());
    p[threadIdx.x + 64] = v + t.shfl(v, k) + t.any(v > 3) + t.meta_group_rank();
}
extern "C" __global__ void tiles(int *p, int k) { tile<32>(p, k); tile<16>(p + 128, k); tile<4>(p + 256, k); }
extern "C" __global__ void coalesced(int *p, int k) {
    if (threadIdx.x % 3 == k) {
        auto g = cg::coalesced_threads();
        p[threadIdx.x] = cg::reduce(g, p[threadIdx.x], cg::greater<int>()) + g.shfl(k, 1) + g.size();
        if (g.thread_rank() == 0) atomicAdd(p, g.size());
    }
}
extern "C" __global__ void __cluster_dims__(4) clusters(int *p, int k) {
    __shared__ int s[64];
    auto c = cg::this_cluster();
    s[threadIdx.x] = p[threadIdx.x];
    c.sync();
    int *other = c.map_shared_rank(s, (c.block_rank() + k) % 4);
    p[threadIdx.x] = other[k];
    atomicAdd(other + 3, k);
    other[5] = atomicAdd(other + k, 7);
    auto token = c.barrier_arrive();
    c.barrier_wait(std::move(token));
    p[threadIdx.x + 64] = s[3];
    unsigned a = (unsigned)__cvta_generic_to_shared(s), b;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(k));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(b), "r"(k));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(b) : "r"(b + 4));
    p[k] = b;
}
extern "C" __global__ void grids(int *p, int k) {
    auto g = cg::this_grid();
    p[g.thread_rank()] = k;
    g.sync();
    p[g.thread_rank()] += p[(g.thread_rank() + k) % g.size()];
}
extern "C" __global__ void flow(int *p, int k) {
    int v = p[threadIdx.x];
    switch (v) {
    case 0: v = k * 3; break;
    case 1: v = p[k]; break;
    case 2: v ^= p[k + 1]; break;
    case 3: v /= k; break;
    case 4: v = __popc(v); break;
    case 5: v = p[v] * v; break;
    case 6: v -= 99; break;
    case 7: return;
    case 8: v = p[3]; __trap();
    default: v = 1;
    }
    for (int i = 0; i < v; ++i) {
        if (p[i] == k) break;
        if (p[i] & 1) continue;
        for (int j = i; j < k; j += v) p[j] += i;
    }
    if (v == 77) asm volatile("brkpt;");
    p[threadIdx.x] = v;
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
}
