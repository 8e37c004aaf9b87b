// Atomics of all kinds of memory, types and scopes.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned long long u64;
__global__ void add_all(float *f, double *d, __half2 *h, __nv_bfloat162 *b, int *n, u64 *l, float2 *f2, float4 *f4, int k) {
    int i = threadIdx.x;
    float r = atomicAdd(f + k, 1.5f);
    double s = atomicAdd(d + k, (double)r);
    __half2 x = atomicAdd(h + i, __float2half2_rn(r));
    __nv_bfloat162 y = atomicAdd(b + i, __float2bfloat162_rn(r));
    f2[i] = atomicAdd(f2 + k, make_float2(r, 2));
    f4[i] = atomicAdd(f4 + k, make_float4(r, 2, 3, 4));
    n[i] = atomicAdd(n + k, 3) + atomicMax(n + k + 1, i) + atomicExch(n + 2, i) + atomicCAS(n + 3, i, k) + (int)s;
    l[i] = atomicAdd(l + k, 3ull) + atomicMin(l + k + 1, (u64)i) + atomicCAS(l + 3, (u64)i, (u64)k);
    h[i + 64] = x, b[i + 64] = y;
    atomicAdd(f + k + 1, r);
    atomicAdd(d + k + 1, s);
    atomicInc((unsigned *)n + 5, 7);
    atomicOr(n + 6, i);
}
__device__ float *either(float *a, float *b, int k) { return k & 1 ? a : b; }
__global__ void anywhere(float *f, int *n, u64 *l, double *e, int k) {
    __shared__ float s[64];
    __shared__ int m[64];
    __shared__ u64 w[64];
    __shared__ double d[64];
    s[threadIdx.x] = 0, m[threadIdx.x] = 1, w[threadIdx.x] = 2, d[threadIdx.x] = 3;
    __syncthreads();
    float *p = either(f, s + k, threadIdx.x);
    int *q = k & 2 ? n : m + k;
    u64 *o = k & 4 ? l : w;
    double *c = k & 8 ? e : d;
    float r = atomicAdd(p, 2.f);
    int t = atomicAdd(q, 3) + atomicCAS(q + 1, 2, k) + atomicMax(q + 2, k) + (int)atomicAdd(c, 2.0);
    u64 v = atomicExch(o, 7ull) + atomicCAS(o + 1, 1ull, 2ull);
    atomicAdd(p + 1, r);
    atomicAdd(q + 3, 1);
    __syncthreads();
    f[threadIdx.x] = s[threadIdx.x] + r + d[threadIdx.x], n[threadIdx.x] = m[threadIdx.x] + t, l[threadIdx.x] = w[threadIdx.x] + v;
}
__global__ void histogram(const unsigned char *in, int n, unsigned *out) {
    __shared__ unsigned bins[4][256];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) (&bins[0][0])[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uchar4 v = ((const uchar4 *)in)[i];
        unsigned *mine = bins[threadIdx.x / 32 % 4];
        atomicAdd(mine + v.x, 1), atomicAdd(mine + v.y, 1), atomicAdd(mine + v.z, 1), atomicAdd(mine + v.w, 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(out + i, bins[0][i] + bins[1][i] + bins[2][i] + bins[3][i]);
}
__global__ void most(float *best, const float *in, int n) {
    float v = -1e30f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v = fmaxf(v, in[i]);
    int old = __float_as_int(*best);
    while (__int_as_float(old) < v) {
        int seen = atomicCAS((int *)best, old, __float_as_int(v));
        if (seen == old) break;
        old = seen;
    }
}
__global__ void insert(u64 *table, unsigned mask, const u64 *keys, int *places, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 key = keys[i];
    unsigned at = (unsigned)(key * 0x9e3779b97f4a7c15ull >> 40) & mask;
    for (;;) {
        u64 old = atomicCAS(table + at, 0ull, key);
        if (old == 0 || old == key) break;
        at = (at + 1) & mask;
    }
    places[i] = at;
}
__global__ void ticket(int *next, int *turn, int *value) {
    if (threadIdx.x == 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device> n(*next), t(*turn);
        int mine = n.fetch_add(1, cuda::memory_order_relaxed);
        while (t.load(cuda::memory_order_acquire) != mine) __nanosleep(20);
        *value = *value * 3 + mine;
        t.store(mine + 1, cuda::memory_order_release);
    }
}
__global__ void last_block(const float *in, float *part, float *sum, unsigned *done, int n) {
    __shared__ float s[256];
    __shared__ bool last;
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) v += in[i];
    s[threadIdx.x] = v;
    for (int o = 128; o; o /= 2) {
        __syncthreads();
        if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        v = 0;
        for (int b = 0; b < gridDim.x; ++b) v += ((volatile float *)part)[b];
        *sum = v;
    }
}
__global__ void flags(cuda::atomic<int, cuda::thread_scope_system> *a, cuda::atomic<float, cuda::thread_scope_block> *b, unsigned char *bytes) {
    int old = a->fetch_or(2);
    float f = b->fetch_add(1.f, cuda::memory_order_acq_rel);
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> c(bytes[threadIdx.x]);
    c.fetch_add((unsigned char)old);
    a[1].store((int)f, cuda::memory_order_seq_cst);
    a[2].wait(3);
}
__global__ void wide(__int128 *p, int k) {
    asm volatile("{.reg .b128 a, b, d; mov.b128 a, {%1, %2}; mov.b128 b, {%2, %1}; atom.global.cas.b128 d, [%0], a, b; st.global.b128 [%0+16], d;}" ::"l"(p), "l"((u64)k), "l"(3ull) : "memory");
    asm volatile("{.reg .b128 a, d; mov.b128 a, {%1, %2}; atom.global.exch.b128 d, [%0], a; st.global.b128 [%0+32], d;}" ::"l"(p), "l"((u64)k), "l"(3ull) : "memory");
}
