// What targets with an architecture suffix have: the fifth tensor core, bulk copies, tensor maps.
#include <cuda.h>
typedef unsigned u32;
typedef unsigned long long u64;
extern "C" __global__ void bulk(const __grid_constant__ CUtensorMap map, float *out, const float *in, int k) {
    __shared__ alignas(1024) float s[2048];
    __shared__ u64 bar;
    u32 at = (u32)__cvta_generic_to_shared(s), b = (u32)__cvta_generic_to_shared(&bar);
    u64 m = (u64)&map;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(k));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(4096 * k));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3}], [%4];" ::"r"(at), "l"(m), "r"(k), "r"(3), "r"(b));
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2,%3,%5}], [%4], %6;" ::"r"(at), "l"(m), "r"(k), "r"(3), "r"(b), "r"(k + 1), "h"((short)3));
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3,%5,%2,%3}], [%4];" ::"r"(at), "l"(m), "r"(k), "r"(3), "r"(b), "r"(k + 1));
        asm volatile("cp.async.bulk.tensor.4d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3,%5,%2}], [%4], {%6,%6};" ::"r"(at), "l"(m), "r"(k), "r"(3), "r"(b), "r"(k + 1), "h"((short)k));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at + 64), "l"(in), "r"(64 * k), "r"(b));
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in), "r"(64 * k));
        asm volatile("prefetch.tensormap [%0];" ::"l"(m));
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1,%2}];" ::"l"(m), "r"(k), "r"(k));
    }
    __syncthreads();
    asm volatile("{.reg .pred P; L: mbarrier.try_wait.parity.shared.b64 P, [%0], %1; @!P bra L;}" ::"r"(b), "r"(k & 1));
    asm volatile("{.reg .pred P; M: mbarrier.test_wait.parity.shared.b64 P, [%0], %1; @!P bra M;}" ::"r"(b), "r"(k & 1));
    u64 token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(b));
    out[threadIdx.x] = s[threadIdx.x + k] + token;
    asm volatile("fence.proxy.async.shared::cta;");
    if (threadIdx.x == 1) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1,%2}], [%3];" ::"l"(m), "r"(k), "r"(7), "r"(at));
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(at), "r"(16 * k));
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out + k), "r"(at), "r"(16 * k));
        asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%0, {%1}], [%2];" ::"l"(m), "r"(k), "r"(at));
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;");
    }
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b));
    asm volatile("griddepcontrol.wait;");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 128;");
}
extern "C" __global__ void __cluster_dims__(2) remote(int *p, int k) {
    __shared__ u64 bar;
    __shared__ alignas(16) int s[64];
    u32 b = (u32)__cvta_generic_to_shared(&bar), at = (u32)__cvta_generic_to_shared(s), r, q;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(b), "r"(k));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(q) : "r"(at), "r"(k));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(r));
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(r), "r"(k));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(q), "r"(k), "r"(r));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%1,%3,%3}, [%2];" ::"r"(q), "r"(k), "r"(r), "r"(k + 1));
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%0], %1, [%2];" ::"r"(q + 8), "r"(k), "r"(r));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(q), "r"(at), "r"(64), "r"(r));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
    asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(p), "r"(k));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(r) : "l"(p + k));
    asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p + 4), "r"(r));
    p[k] = s[k] + r;
}
#ifdef FIFTH
extern "C" __global__ void fifth(u32 *p, u64 da, u64 db, u32 id, int k) {
    __shared__ u32 where;
    __shared__ u64 bar;
    u32 w = (u32)__cvta_generic_to_shared(&where), b = (u32)__cvta_generic_to_shared(&bar);
    if (threadIdx.x < 32) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(w));
    __syncthreads();
    u32 t = where;
    if (threadIdx.x == 0) {
        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k));
        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::tf32 [%0], [%1], %2, %3, q;}" ::"r"(t), "r"(t + 64), "l"(db), "r"(id), "r"(k));
        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, q;}" ::"r"(t + 32), "l"(da), "l"(db), "r"(id), "r"(k));
        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%5], [%6], q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k), "r"(t + 16), "r"(t + 24));
        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.ws.cta_group::1.kind::f16 [%0], %1, %2, %3, q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k));
        asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%5], %3, q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k), "r"(t + 8));
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(t + k), "l"(da));
        asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(t));
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(b));
    }
    asm volatile("{.reg .pred P; L: mbarrier.try_wait.parity.shared.b64 P, [%0], %1; @!P bra L;}" ::"r"(b), "r"(0));
    asm volatile("tcgen05.fence::after_thread_sync;");
    u32 r[32];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(r[0]) : "r"(t));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0,%1}, [%2];" : "=r"(r[1]), "=r"(r[2]) : "r"(t + 1));
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]) : "r"(t + 2));
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r[7]), "=r"(r[8]), "=r"(r[9]), "=r"(r[10]) : "r"(t + 2));
    asm volatile("tcgen05.ld.sync.aligned.16x128b.x4.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15]), "=r"(r[16]), "=r"(r[17]), "=r"(r[18]) : "r"(t + k));
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {%0,%1,%2,%3}, [%4], 8;" : "=r"(r[19]), "=r"(r[20]), "=r"(r[21]), "=r"(r[22]) : "r"(t + 9));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[23]), "=r"(r[24]), "=r"(r[25]), "=r"(r[26]), "=r"(r[27]), "=r"(r[28]), "=r"(r[29]), "=r"(r[30]) : "r"(t + k));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    for (int i = 0; i < 31; ++i) p[threadIdx.x * 32 + i] = r[i];
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%2,%3,%4};" ::"r"(t), "r"(r[1]), "r"(r[3]), "r"(r[5]), "r"(r[7]));
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(t + 4), "r"(r[9]));
    asm volatile("tcgen05.wait::st.sync.aligned;");
    asm volatile("tcgen05.fence::before_thread_sync;");
    __syncthreads();
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(t));
    }
}
#endif
#ifdef SCALED
extern "C" __global__ void scaled(float *f, u32 *u, int k) {
    u32 a = u[0], b = u[k], c = u[2], e = u[3];
    float r0 = f[0], r1 = f[k], r2 = f[2], r3 = f[3];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3}, {%8}, {0,1}, {%9}, {0,1};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e), "r"(u[9]), "r"(u[k + 3]));
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3}, {%8}, {0,0}, {%9}, {0,0};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e), "r"(u[9]), "r"(u[k + 3]));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e));
    f[4] = r0, f[5] = r1, f[6] = r2, f[7] = r3;
    __shared__ u32 s[256];
    s[threadIdx.x] = u[threadIdx.x];
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(e) : "r"((u32)__cvta_generic_to_shared(s + k)));
    u[threadIdx.x] = a + b + c + e;
}
#endif
