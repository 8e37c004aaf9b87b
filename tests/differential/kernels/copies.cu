// Asynchronous copies: groups, barriers in shared memory, bulk copies and tensor maps.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
typedef cuda::barrier<cuda::thread_scope_block> Barrier;
__global__ void two_stages(const float *in, float *out, int tiles) {
    __shared__ alignas(16) float s[2][256];
    auto pipe = cuda::make_pipeline();
    auto fetch = [&](int tile) {
        pipe.producer_acquire();
        cuda::memcpy_async(s[tile & 1] + threadIdx.x, in + tile * 256 + threadIdx.x, sizeof(float), pipe);
        pipe.producer_commit();
    };
    fetch(0);
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            fetch(t + 1);
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else cuda::pipeline_consumer_wait_prior<0>(pipe);
        __syncthreads();
        sum += s[t & 1][threadIdx.x ^ 1] * 2;
        __syncthreads();
        pipe.consumer_release();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
__global__ void groups_of_copies(const int4 *in, int4 *out, int n) {
    __shared__ int4 s[512];
    auto block = cg::this_thread_block();
    for (int i = 0; i < n; ++i) {
        cg::memcpy_async(block, s, in + i * 512, sizeof(int4) * 512);
        cg::wait(block);
        int4 a = s[threadIdx.x], b = s[threadIdx.x ^ 256];
        out[i * 512 + threadIdx.x] = make_int4(a.x + b.y, a.y - b.x, a.z ^ b.w, a.w | b.z);
        block.sync();
    }
}
__global__ void bulk(const float *in, float *out, int tiles) {
    __shared__ alignas(128) float s[1024];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int t = 0; t < tiles; ++t) {
        Barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cuda::device::memcpy_async_tx(s, in + t * 1024, cuda::aligned_size_t<16>(4096), bar);
            token = cuda::device::barrier_arrive_tx(bar, 1, 4096);
        } else token = bar.arrive();
        bar.wait(std::move(token));
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = s[i] * 2 + 1;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + t * 1024, s, 4096);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}
__global__ void map(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, int rows, float factor) {
    __shared__ alignas(1024) float s[2][32][32];
    __shared__ alignas(8) unsigned long bar[2];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::mbarrier_init(bar + 1, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    auto fetch = [&](int row) {
        if (threadIdx.x == 0) {
            int where[2] = {(int)blockIdx.x * 32, row * 32};
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s[row & 1], &from, where, bar + (row & 1));
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar + (row & 1), 4096);
        }
    };
    fetch(0);
    for (int row = 0; row < rows; ++row) {
        if (row + 1 < rows) fetch(row + 1);
        while (!ptx::mbarrier_try_wait_parity(bar + (row & 1), row >> 1 & 1));
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) (&s[row & 1][0][0])[i] *= factor;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            int where[2] = {(int)blockIdx.x * 32, row * 32};
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, where, s[row & 1]);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}
__global__ void gather(const int *index, const float4 *in, float4 *out, int n) {
    __shared__ float4 s[3][128];
    for (int i = 0; i < 2; ++i) {
        __pipeline_memcpy_async(&s[i][threadIdx.x], in + index[i * 128 + threadIdx.x], 16);
        __pipeline_commit();
    }
    for (int i = 0; i < n; ++i) {
        int next = i + 2 < n ? index[(i + 2) * 128 + threadIdx.x] : 0;
        __pipeline_memcpy_async(&s[(i + 2) % 3][threadIdx.x], in + next, 16, i & 1 ? 4 : 0);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        out[i * 128 + threadIdx.x] = s[i % 3][threadIdx.x];
    }
}
