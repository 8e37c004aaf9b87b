// Cooperative groups, clusters and memory of other blocks in a cluster; votes and exchanges in a warp.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(4) shared_histogram(const int *in, int n, int *out) {
    __shared__ int bins[256];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank() + blockIdx.y * cluster.size(); i < n; i += cluster.size() * gridDim.y) {
        int v = in[i] & 1023;
        atomicAdd(cluster.map_shared_rank(bins, v >> 8) + (v & 255), 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(out + cluster.block_rank() * 256 + i, bins[i]);
}
__global__ void __cluster_dims__(2, 2) neighbours(const float *in, float *out) {
    extern __shared__ float s[];
    auto cluster = cg::this_cluster();
    s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    cluster.sync();
    float v = s[threadIdx.x];
    for (unsigned r = 0; r < cluster.num_blocks(); ++r)
        if (r != cluster.block_rank()) v += cluster.map_shared_rank(s, r)[threadIdx.x] * (r + 1);
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void tiles(const float *in, float *out, int n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    for (int i = tile.meta_group_rank(); i < n; i += tile.meta_group_size()) {
        float v = in[i * 8 + tile.thread_rank()];
        float sum = cg::reduce(tile, v, cg::plus<float>()), most = cg::reduce(tile, v, cg::greater<float>());
        float before = cg::exclusive_scan(tile, v);
        if (tile.any(v < 0)) sum = -sum;
        out[i * 8 + tile.thread_rank()] = sum + most * before + tile.shfl_down(v, 3);
    }
}
__global__ void compact(const int *in, int *out, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        auto active = cg::coalesced_threads();
        int place;
        if (active.thread_rank() == 0) place = atomicAdd(count, active.size());
        out[active.shfl(place, 0) + active.thread_rank()] = in[i];
    }
}
__global__ void by_label(const int *label, const int *value, int *out) {
    auto active = cg::coalesced_threads();
    auto same = cg::labeled_partition(active, label[threadIdx.x]);
    int sum = cg::reduce(same, value[threadIdx.x], cg::plus<int>());
    if (same.thread_rank() == 0) out[label[threadIdx.x]] = sum;
    auto half = cg::binary_partition(active, value[threadIdx.x] & 1);
    out[64 + threadIdx.x] = cg::reduce(half, value[threadIdx.x], cg::bit_xor<int>()) + half.size();
}
__global__ void warp_wide(const unsigned *in, unsigned *out, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        unsigned v = in[i], mask = __ballot_sync(~0u, v > 7);
        unsigned r = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_xor_sync(~0u, v);
        r += __match_any_sync(~0u, v & 3) ^ __shfl_up_sync(~0u, v, 2, 16);
        int all;
        r += __match_all_sync(~0u, v >> 5, &all) + all;
        if (mask & 1) r += __shfl_sync(mask, v, 0);
        if (__any_sync(~0u, v == 9)) r += __popc(mask);
        if (__all_sync(~0u, v < 90)) r ^= 1;
        out[i] = r + (__syncthreads_count(v & 1) | __syncthreads_or(v & 2) << 8);
    }
}
__global__ void whole_grid(float *a, float *b, int n, int steps) {
    auto grid = cg::this_grid();
    for (int s = 0; s < steps; ++s) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[(i + 1) % n] * 0.5f + a[i];
        grid.sync();
        float *t = a;
        a = b;
        b = t;
    }
}
__global__ void queued(float *data, int n) {
    __shared__ uint4 answer;
    __shared__ unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&answer), b = (unsigned)__cvta_generic_to_shared(&bar);
    int block = blockIdx.x, phase = 0;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
    __syncthreads();
    for (;;) {
        if (threadIdx.x == 0) {
            asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(at), "r"(b) : "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16;" ::"r"(b) : "memory");
        }
        for (int i = threadIdx.x; i < n; i += blockDim.x) data[block * n + i] += 1;
        unsigned ok = 0, next = 0;
        asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again;}" ::"r"(b), "r"(phase) : "memory");
        asm volatile("{.reg .pred p; .reg .b128 r; ld.shared.b128 r, [%2]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; selp.u32 %0, 1, 0, p; @p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r;}" : "=r"(ok), "+r"(next) : "r"(at) : "memory");
        __syncthreads();
        if (!ok) break;
        block = next;
        phase ^= 1;
    }
}
