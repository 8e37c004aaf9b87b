// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__device__ __noinline__ int sumTile(cg::thread_block_tile<32> t, int v) {
    return cg::reduce(t, v, cg::plus<int>());
}
__global__ void tiles(int *o) {
    auto b = cg::this_thread_block();
    auto t = cg::tiled_partition<32>(b);
    o[b.thread_rank()] = sumTile(t, o[b.thread_rank()]) + cg::exclusive_scan(t, 1);
}
__global__ void grid(int *o) {
    auto g = cg::this_grid();
    o[g.thread_rank()]++;
    g.sync();
    o[0] += o[g.size() - 1];
}
__global__ void async(int *o, const int *p) {
    __shared__ int s[256];
    auto b = cg::this_thread_block();
    cg::memcpy_async(b, s, p, sizeof(s));
    cg::wait(b);
    o[b.thread_rank()] = s[255 - b.thread_rank()];
}
__global__ void coal(int *o) {
    if (threadIdx.x % 3) {
        auto c = cg::coalesced_threads();
        o[threadIdx.x] = c.shfl(o[threadIdx.x], 0);
    }
}
void go(int *o) {
    tiles<<<1, 64>>>(o);
    async<<<1, 256>>>(o, o);
    coal<<<1, 32>>>(o);
    void *a[] = {&o};
    cudaLaunchCooperativeKernel((void *)grid, 1, 32, a);
}
