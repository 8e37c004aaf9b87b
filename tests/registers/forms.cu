// Rare forms: bulk copies with policies, words that wide accesses leave out, residency of textures, sparse and scaled
// products. The asm is one instruction each; `v` differs between threads, `u` does not.
typedef unsigned u32;
typedef unsigned long long u64;
#define SHARED(s) (u32)__cvta_generic_to_shared(s)

extern "C" __global__ void pieces(u32 *p, const u32 *q, int k) {
    u32 a = q[threadIdx.x], b = q[k], c, d, r;
    int x = a, y = b;
    asm volatile("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    p[0] = r;
    asm volatile("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(k));
    p[1] = r;
    asm volatile("{.reg .b16 t; cvt.sat.s8.s32 t, %1; cvt.s32.s8 %0, t;}" : "=r"(r) : "r"(x));
    p[2] = r;
    asm volatile("{.reg .b16 t; cvt.sat.u16.s32 t, %1; cvt.u32.u16 %0, t;}" : "=r"(r) : "r"(k));
    p[3] = r;
    asm volatile("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(a));
    p[4] = r;
    asm volatile("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(k));
    p[5] = r;
    asm volatile("cvt.pack.sat.s8.s32.b32 %0, %1, 5, %2;" : "=r"(r) : "r"(x), "r"(a));
    p[6] = r;
    asm volatile("{.reg .b16 t; cvt.rni.u8.f32 t, %1; cvt.u32.u16 %0, t;}" : "=r"(r) : "f"(__int_as_float(a)));
    p[7] = r;
    asm volatile("{.reg .b16 t; cvt.rni.u8.f32 t, %1; cvt.u32.u16 %0, t;}" : "=r"(r) : "f"(__int_as_float(k)));
    p[8] = r;
    asm volatile("{.reg .b16 t; mov.b32 {t, _}, %1; cvt.rn.f16x2.e5m2x2 %0, t;}" : "=r"(r) : "r"(a));
    p[9] = r;
    asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(__int_as_float(a)), "f"(__int_as_float(k)));
    p[10] = r;
    asm volatile("mul24.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(k), "r"(k + 7));
    p[11] = r;
    asm volatile("ld.global.v8.b32 {%0,_,%1,%2,_,_,%3,_}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(q + 8 * k));
    asm volatile("st.global.v8.b32 [%0], {_,_,%1,_,_,_,%2,%3};" ::"l"(p + 8 * k), "r"(a), "r"(b), "r"(c));
    asm volatile("barrier.arrive 2, %0;" ::"r"(d));
    asm volatile("pmevent 3;");
    asm volatile("{.reg .pred x; isspacep.global x, %1; selp.u32 %0, 1, 2, x;}" : "=r"(r) : "l"(p + k));
    p[12] = r;
    if (p[13] > 3) p[14] = __reduce_max_sync(~0u, a);
}

extern "C" __global__ void pairs(u64 *p, const u64 *q, u64 u, u64 w) {
    u64 a = q[threadIdx.x], b = q[threadIdx.x + 32], r;
    asm volatile("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(r) : "l"(a), "l"(u), "l"(b));
    p[0] = r;
    asm volatile("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(r) : "l"(a), "l"(b), "l"(w));
    p[1] = r;
    asm volatile("mul.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(u));
    p[2] = r;
    asm volatile("add.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(w));
    p[3] = r;
}

extern "C" __global__ void resident(float4 *o, u64 t, float x, float y, int i) {
    float a, b, c, d, v = x + threadIdx.x;
    u32 r;
    asm volatile("{.reg .pred q; tex.2d.v4.f32.f32 {%0,%1,%2,%3}|q, [%5, {%6,%7}]; selp.u32 %4, 1, 2, q;}" : "=f"(a), "=f"(b), "=f"(c), "=f"(d), "=r"(r) : "l"(t), "f"(v), "f"(y));
    o[0] = make_float4(a + r, b, c, d);
    asm volatile("{.reg .pred q; tld4.r.2d.v4.f32.f32 {%0,%1,%2,%3}|q, [%5, {%6,%7}]; selp.u32 %4, 1, 2, q;}" : "=f"(a), "=f"(b), "=f"(c), "=f"(d), "=r"(r) : "l"(t), "f"(v), "f"(y));
    o[1] = make_float4(a + r, b, c, d);
    asm volatile("tex.grad.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}], {%6,%5}, {%5,%6}, {%7,%7};" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(t), "f"(v), "f"(y), "r"(i));
    o[2] = make_float4(a, b, c, d);
    asm volatile("sust.p.1d.v2.b32.trap [%0, {%1}], {%2,%2};" ::"l"(t), "r"(i), "r"(r));
    asm volatile("sured.b.min.2d.s64.trap [%0, {%1,%1}], %2;" ::"l"(t), "r"(i), "l"((long long)r));
    asm volatile("sured.p.max.1d.b32.trap [%0, {%1}], %2;" ::"l"(t), "r"(i), "r"(r));
}

extern "C" __global__ void hints(u64 map, float *g, u64 policy, int k) {
    extern __shared__ float4 s[];
    __shared__ u64 bar;
    u32 at = SHARED(s) + k, b = SHARED(&bar);
    if (threadIdx.x) return;
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2,%2}], [%3], %4;" ::"r"(at), "l"(map), "r"(k), "r"(b), "l"(policy));
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1, {%2,%2,%2}], [%3], {%5}, %5, %4;" ::"r"(at), "l"(map), "r"(k), "r"(b), "l"(policy), "h"((short)k));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%1,%1}], [%2], %3;" ::"l"(map), "r"(k), "r"(at), "l"(policy));
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group.L2::cache_hint [%0, {%1,%1}], [%2], %3;" ::"l"(map), "r"(k), "r"(at), "l"(policy));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint [%0, {%1,%1}], %2;" ::"l"(map), "r"(k), "l"(policy));
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%0, {%1,%1,%1}], {%2};" ::"l"(map), "r"(k), "h"((short)k));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(at), "l"(g), "r"(16 * k), "r"(b), "l"(policy));
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%0], [%1], %2, %3;" ::"l"(g), "r"(at), "r"(16 * k), "l"(policy));
    asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(g), "r"(16 * k), "l"(policy));
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(at), "l"(policy), "r"(b));
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map));
#ifdef FIFTH
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1.L2::cache_hint [%0], [%1, {%2,%2,%2,%2,%2}], [%3], %4;" ::"r"(at), "l"(map), "r"(k), "r"(b), "l"(policy));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%0, {%1,%1,%1,%1,%1}], [%2];" ::"l"(map), "r"(k), "r"(at));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%0, {%1,%1,%1,%1,%1}];" ::"l"(map), "r"(k));
#endif
}

extern "C" __global__ void reduced(u64 *p, float *q, int k) {
    u64 l;
    u32 a, b;
    float f;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.max.u64 %0, [%1];" : "=l"(l) : "l"(p + threadIdx.x));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];" : "=f"(f) : "l"(q + k));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v2.f16x2 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "l"(p + threadIdx.x));
    p[k] = l + a + b + (u32)f;
}

extern "C" __global__ void sparse(float *f, u32 *u) {
    u32 a = u[0], b = u[1], c = u[2], d = u[3], e = u[4], h0 = u[5], h1 = u[6];
    int i0 = u[7], i1 = u[8], i2 = u[9], i3 = u[10];
    float r0 = f[0], r1 = f[1], r2 = f[2], r3 = f[3];
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4,%5}, {%0,%1}, %6, 0;" : "+r"(h0), "+r"(h1) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%5,%4,%7,%6}, {%0,%1,%2,%3}, %8, 0;" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0;" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0;" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%5,%4,%7,%6}, {%0,%1,%2,%3}, %8, 0;" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
#ifdef SCALED
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(h0), "+r"(h1) : "r"(a), "r"(b), "r"(c));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%5,%4,%7,%6}, {%0,%1,%2,%3}, %8, 0;" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%5,%4}, {%0,%1,%2,%3}, %8, {0,1}, %5, {0,1};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%5,%4,%7,%6}, {%0,%1,%2,%3}, %8, 0, %4, {0,0}, %5, {0,0};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
#endif
    f[4] = r0 + r1 + r2 + r3, u[11] = h0 + h1 + i0 + i1 + i2 + i3;
}

#ifdef FIFTH
extern "C" __global__ void masked(u32 t, u64 da, u64 db, u32 id, int k) {
    extern __shared__ u32 place[];
    u32 a, b, c;
    asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%4,%4,%4,%4}, q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k));
    asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::tf32 [%0], [%5], %2, %3, {%4,%4,%4,%4}, q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k), "r"(t + 64));
    asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.ws.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, q, %1;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k));
    asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%0], %1, %2, %3, [%5], [%5], q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k), "r"(t + 8));
    asm volatile("{.reg .pred q; setp.ne.b32 q, %4, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], [%5], %2, %3, [%5], [%5], q;}" ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(k), "r"(t + 8));
    asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(SHARED(place)));
    if (k == 3) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(t));
    place[k] = a + b;
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(SHARED(place)));
}
#endif
