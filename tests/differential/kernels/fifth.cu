// The fifth tensor core: products in tensor memory (sm_100a, sm_103a, sm_110a), with a producer,
// a multiplier and an epilogue in warps of their own.
#include <cuda.h>
typedef unsigned u32;
typedef unsigned long long u64;
__device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait(u32 bar, u32 parity) {
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra done; bra again; done:}" ::"r"(bar), "r"(parity));
}
__device__ bool one() {
    u32 r;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p;}" : "=r"(r));
    return r;
}
#define GEMM(name, kind, extra) \
    __global__ void __launch_bounds__(192) name(const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, float *c, int depth, u32 id) { \
        __shared__ alignas(1024) char as[2][16384], bs[2][16384]; \
        __shared__ u64 full[2], empty[2], ready; \
        __shared__ u32 where; \
        int warp = threadIdx.x / 32; \
        if (warp == 0) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(at(&where))); \
        if (threadIdx.x == 0) { \
            for (int i = 0; i < 2; ++i) { \
                asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(full + i))); \
                asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(empty + i))); \
            } \
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&ready))); \
            asm volatile("fence.mbarrier_init.release.cluster;"); \
        } \
        __syncthreads(); \
        asm volatile("tcgen05.fence::after_thread_sync;"); \
        u32 tmem = where; \
        if (warp == 4) { \
            if (one()) \
                for (int k = 0; k < depth; ++k) { \
                    int s = k & 1; \
                    if (k > 1) wait(at(empty + s), (k / 2 - 1) & 1); \
                    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 32768;" ::"r"(at(full + s))); \
                    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3}], [%4];" ::"r"(at(as[s])), "l"(&ma), "r"(k * 64), "r"(blockIdx.y * 128), "r"(at(full + s)) : "memory"); \
                    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3}], [%4];" ::"r"(at(bs[s])), "l"(&mb), "r"(k * 64), "r"(blockIdx.x * 128), "r"(at(full + s)) : "memory"); \
                } \
        } else if (warp == 5) { \
            if (one()) { \
                for (int k = 0; k < depth; ++k) { \
                    int s = k & 1; \
                    wait(at(full + s), k / 2 & 1); \
                    for (int j = 0; j < 4; ++j) { \
                        u64 da = 0x4000404000010000ull | (at(as[s]) + j * 32) >> 4, db = 0x4000404000010000ull | (at(bs[s]) + j * 32) >> 4; \
                        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, " extra "q;}" ::"r"(tmem), "l"(da), "l"(db), "r"(id), "r"(k + j), "r"(tmem + 128), "r"(tmem + 160)); \
                    } \
                    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(empty + s))); \
                } \
                asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(&ready))); \
            } \
        } else { \
            wait(at(&ready), 0); \
            asm volatile("tcgen05.fence::after_thread_sync;"); \
            for (int n = 0; n < 128; n += 8) { \
                u32 r[8]; \
                asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(tmem + n + (warp << 21))); \
                asm volatile("tcgen05.wait::ld.sync.aligned;"); \
                float4 *to = (float4 *)(c + (size_t)(blockIdx.y * 128 + threadIdx.x) * gridDim.x * 128 + blockIdx.x * 128 + n); \
                to[0] = make_float4(__uint_as_float(r[0]), __uint_as_float(r[1]), __uint_as_float(r[2]), __uint_as_float(r[3])); \
                to[1] = make_float4(__uint_as_float(r[4]), __uint_as_float(r[5]), __uint_as_float(r[6]), __uint_as_float(r[7])); \
            } \
        } \
        asm volatile("tcgen05.fence::before_thread_sync;"); \
        __syncthreads(); \
        if (warp == 0) { \
            asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"); \
            asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(tmem)); \
        } \
    }
GEMM(halves, "f16", "")
GEMM(tensors, "tf32", "")
GEMM(eights, "f8f6f4", "")
GEMM(scaled_eights, "mxf8f6f4.block_scale", "[%5], [%6], ")
GEMM(scaled_fours, "mxf4nvf4.block_scale.scale_vec::4X", "[%5], [%6], ")
__global__ void through_memory(u32 *p, u32 tmem, u64 descriptor, int n) {
    u32 r[16];
    for (int i = 0; i < n; ++i) {
        asm volatile("tcgen05.ld.sync.aligned.16x256b.x4.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8]), "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15]) : "r"(tmem + i));
        asm volatile("tcgen05.wait::ld.sync.aligned;");
        for (int j = 0; j < 16; ++j) r[j] = r[j] * 3 + p[j];
        asm volatile("tcgen05.st.sync.aligned.16x128b.x8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16};" ::"r"(tmem + i), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "r"(r[8]), "r"(r[9]), "r"(r[10]), "r"(r[11]), "r"(r[12]), "r"(r[13]), "r"(r[14]), "r"(r[15]));
        asm volatile("tcgen05.wait::st.sync.aligned;");
    }
    if (threadIdx.x == 0) {
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(tmem), "l"(descriptor));
        asm volatile("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%0], %1;" ::"r"(tmem + 4), "l"(descriptor));
        asm volatile("tcgen05.cp.cta_group::1.4x256b.b8x16.b4x16_p64 [%0], %1;" ::"r"(tmem + 8), "l"(descriptor));
    }
}
