// Copies in stages: clusters, mbarriers, bulk copies, fences, spilled registers beside fences.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern __device__ float finish(float x, int how);

__global__ void __cluster_dims__(2, 1, 1) pairs(const float *x, float *y)
{
    extern __shared__ float mine[];
    auto cluster = cg::this_cluster();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    mine[threadIdx.x] = x[i];
    cluster.sync();
    float *other = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    float sum = other[threadIdx.x] + mine[threadIdx.x];
    cluster.sync();
    y[i] = finish(sum, i);
}

__global__ void bulk(float *to, const float *from, int bytes)
{
    __shared__ alignas(128) float buffer[1024];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned at = __cvta_generic_to_shared(buffer), bar = __cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(at), "l"(from), "r"(bytes), "r"(bar) : "memory");
    }
    __syncthreads();
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W;}"
                 ::"r"(bar) : "memory");
    to[threadIdx.x] = buffer[threadIdx.x] + 1;
}

__global__ void publish(int *flag, int *data, int n)
{
    data[threadIdx.x] = n;
    __threadfence();
    if (atomicAdd(flag, 1) == n) {
        __threadfence_system();
        data[0] = data[threadIdx.x] + 1;
        __threadfence_block();
        flag[1] = 2;
    }
}

__global__ void __launch_bounds__(1024, 2) spilled(volatile float *p, int n)
{
    float r[48];
    for (int i = 0; i < 48; i++)
        r[i] = p[i * n];
    __threadfence();
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 48; i++)
            r[i] = r[i] * r[(i + 7) % 48] + p[k];
    __threadfence_system();
    for (int i = 0; i < 48; i++)
        p[i * n] = r[i];
}
