// Loads, stores, atomics and reductions in all spaces and widths; asynchronous copies.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

#define VECTOR(name, T) \
    extern "C" __global__ void name(T *p, const T *q, T *l, int k) { \
        __shared__ T s[64]; \
        T local[4]; \
        s[threadIdx.x] = q[threadIdx.x]; \
        __syncthreads(); \
        for (int i = 0; i < 4; ++i) local[(i * k) & 3] = s[(i + k) & 63]; \
        p[threadIdx.x] = s[k]; \
        p[threadIdx.x + k] = __ldg(q + k); \
        p[k] = local[k & 3]; \
        l[threadIdx.x] = *(volatile char *)p ? q[5] : s[9]; \
    }
VECTOR(m8, char)
VECTOR(m16, short)
VECTOR(m32, int)
VECTOR(m64, long long)
VECTOR(m64v, int2)
VECTOR(m128, int4)

extern "C" __global__ void generic(int *p, int *q, int k) {
    __shared__ int s[32];
    int l[8];
    l[k & 7] = k;
    int *a[3] = {p, s, l};
    int *b = a[k % 3];
    b[threadIdx.x] = b[k];
    *(int4 *)(a[(k + 1) % 3]) = *(int4 *)b;
    *(long long *)(a[(k + 2) % 3]) = *(long long *)(b + 4);
    atomicAdd(b, 3);
    q[k] = atomicCAS(b + 1, 3, k) + atomicExch(b + 2, k);
    q[k + 1] = __isShared(b) + __isGlobal(b) + __isLocal(b) + l[k & 3];
}

#define ATOMIC(name, T) \
    extern "C" __global__ void name(T *p, T *out, T v, int k) { \
        __shared__ T s[8]; \
        s[threadIdx.x & 7] = 0; \
        __syncthreads(); \
        T r = atomicAdd(p, v) + atomicExch(p + 1, v) + atomicCAS(p + 2, v, (T)k); \
        r += atomicAdd(s + k, v) + atomicExch(s + 1, v) + atomicCAS(s + 2, v, (T)k); \
        r += atomicMin(p + 3, v) + atomicMax(p + 4, v) + atomicAnd(p + 5, v) + atomicOr(p + 6, v) + atomicXor(p + 7, v); \
        r += atomicMin(s + 3, v) + atomicMax(s + 4, v) + atomicAnd(s + 5, v) + atomicOr(s + 6, v) + atomicXor(s + 7, v); \
        atomicAdd(p + k, v); atomicMax(p + k + 1, v); atomicXor(p + k + 2, r); \
        atomicAdd(s + (k & 7), v); atomicMin(s + (k & 3), v); \
        out[threadIdx.x] = r + s[k & 7]; \
    }
ATOMIC(a32, int)
ATOMIC(au32, unsigned)
ATOMIC(a64, unsigned long long)
extern "C" __global__ void afloat(float *f, double *d, float2 *v, __int128 *w, unsigned short *h, int k) {
    f[9] = atomicAdd(f + k, 1.5f) + atomicExch(f + 1, 2);
    d[9] = atomicAdd(d + k, 1.5);
    atomicAdd(f + 3, f[4]); atomicAdd(d + 3, d[4]);
    v[3] = atomicAdd(v + k, v[2]);
    h[3] = atomicCAS(h + k, h[1], h[2]);
    unsigned long long x, y;
    asm volatile("{.reg .b128 a,b,c; mov.b128 b,{%3,%4}; mov.b128 c,{%4,%3}; atom.global.cas.b128 a,[%2],b,c; mov.b128 {%0,%1},a;}" : "=l"(x), "=l"(y) : "l"(w), "l"(((long long *)w)[3]), "l"(((long long *)w)[k]));
    asm volatile("{.reg .b128 a,b; mov.b128 b,{%3,%4}; atom.global.exch.b128 a,[%2],b; mov.b128 {%0,%1},a;}" : "=l"(x), "=l"(y) : "l"(w + k), "l"(x), "l"(y));
    w[8] = x * y;
    asm volatile("red.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(f + 16), "f"(f[k]), "f"(f[k + 1]), "f"(f[k + 2]), "f"(f[k + 3]));
    asm volatile("red.global.add.v2.f32 [%0], {%1,%2};" ::"l"(f + 32), "f"(f[k + 4]), "f"(f[k + 5]));
    float a, b, c, e;
    asm volatile("atom.global.add.v4.f32 {%0,%1,%2,%3}, [%4], {%5,%6,%7,%8};" : "=f"(a), "=f"(b), "=f"(c), "=f"(e) : "l"(f + 64), "f"(f[k]), "f"(f[k + 1]), "f"(f[k + 2]), "f"(f[k + 3]));
    f[k + 9] = a + b + c + e;
}

#define HALVES(SPACE, P) \
    asm volatile("atom" SPACE ".add.noftz.f16x2 %0, [%1], %2;" : "=r"(r) : "l"(P + 8), "r"(r)); \
    asm volatile("atom" SPACE ".add.noftz.bf16x2 %0, [%1], %2;" : "=r"(r) : "l"(P + 9), "r"(r)); \
    asm volatile("atom" SPACE ".add.f32 %0, [%1], %2;" : "=r"(r) : "l"(P + 10), "r"(r)); \
    asm volatile("atom" SPACE ".add.f64 %0, [%1], %2;" : "=d"(d) : "l"(P + 12), "d"(d));
extern "C" __global__ void ahalf(unsigned *p, double d, int k) {
    unsigned r = p[k], a = p[k + 1], b, c, e;
    HALVES("", p)
    HALVES(".global", p)
    asm volatile("atom.global.v2.f16x2.add.noftz {%0,%1}, [%2], {%0,%1};" : "+r"(r), "+r"(a) : "l"(p + 16));
    asm volatile("atom.global.v2.bf16x2.add.noftz {%0,%1}, [%2], {%0,%1};" : "+r"(r), "+r"(a) : "l"(p + 24));
    b = r * a, c = r + b, e = a - b;
    asm volatile("atom.global.v4.f16x2.add.noftz {%0,%1,%2,%3}, [%4], {%0,%1,%2,%3};" : "+r"(r), "+r"(a), "+r"(b), "+r"(c) : "l"(p + 32));
    asm volatile("atom.global.v4.bf16x2.add.noftz {%0,%1,%2,%3}, [%4], {%0,%1,%2,%3};" : "+r"(r), "+r"(a), "+r"(b), "+r"(e) : "l"(p + 48));
    asm volatile("red.global.v2.f16x2.add.noftz [%0], {%1,%2};" ::"l"(p + 64), "r"(b), "r"(c));
    asm volatile("red.global.v4.bf16x2.add.noftz [%0], {%1,%2,%3,%4};" ::"l"(p + 80), "r"(a), "r"(b), "r"(c), "r"(e));
    p[k + 3] = r + a + b + c + e + (unsigned)d;
}

extern "C" __global__ void wide(const int *p, int *q, int k) {
    int r[8];
    asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "l"(p + k * 8));
    for (int i = 0; i < 8; ++i) r[i] *= r[(i + 1) & 7];
    asm volatile("st.global.v8.b32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "l"(q + k * 8));
}

extern "C" __global__ void ordered(int *p, int *q, int k) {
    int a, b;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(a) : "l"(p));
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(q), "r"(a));
    asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(b) : "l"(p + k));
    asm volatile("atom.acq_rel.sys.global.add.u32 %0, [%1], %2;" : "=r"(a) : "l"(q + 3), "r"(b));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p + a));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(p));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(p));
    long long pol;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(pol));
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(b) : "l"(p + 77), "l"(pol));
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(q + 77), "r"(b), "l"(pol));
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,_,_}, [%2];" : "=r"(a), "=r"(b) : "l"(p + 32));
    __threadfence(); __threadfence_block(); __threadfence_system();
    q[k] = a + b;
    __nanosleep(k);
}

extern "C" __global__ void copies(float *out, const float *in, int k) {
    __shared__ alignas(128) float s[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    block.sync();
    cuda::memcpy_async(s + threadIdx.x * 4, in + threadIdx.x * 4, cuda::aligned_size_t<16>(16), bar);
    bar.arrive_and_wait();
    out[threadIdx.x] = s[k];
    cg::memcpy_async(block, s, in + k, 512);
    cg::wait(block);
    out[threadIdx.x + k] = s[k + 5];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((int)__cvta_generic_to_shared(s + k)), "l"(in + k));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"((int)__cvta_generic_to_shared(s + 2 * k)), "l"(in + 2 * k), "r"(k));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    out[threadIdx.x + 2 * k] = s[threadIdx.x ^ k];
}

// Copies with a policy, whose address in shared memory is uniform or the sum of both kinds.
extern "C" __global__ void hinted(float *out, const float *in, int k, long long policy) {
    extern __shared__ float4 s[];
    int at = (int)__cvta_generic_to_shared(s) + threadIdx.x * 16;
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at + k), "l"(in + threadIdx.x * 4), "l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(k), "l"(in + threadIdx.x * 4), "l"(policy));
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, %2;" ::"r"(at), "l"(in + k), "l"(policy));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    out[threadIdx.x] = s[threadIdx.x ^ k].x;
}

extern "C" __global__ void staged(float *out, const float *in, int n) {
    __shared__ float s[2][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0, f = 0; i < n; ++i) {
        for (; f < n && f < i + 2; ++f) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[f & 1], in + f * 256, sizeof(float) * 256, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[i * 256 + threadIdx.x] = s[i & 1][255 - threadIdx.x];
        pipe.consumer_release();
    }
}
