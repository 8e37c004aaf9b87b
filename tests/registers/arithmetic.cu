// Integer, floating-point and conversion instructions in their plain, wide and immediate forms.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <class T> __device__ T mix(T a, T b, T c, int k) {
    T r = a * b + c;
    r += a - b * T(3);
    if (k & 1) r = a < b ? r : c;
    if (k & 2) r = max(r, b);
    if (k & 4) r = min(r, c);
    return r;
}

#define INTEGER(name, T) \
    extern "C" __global__ void name(T *p, const T *q, int k) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        T a = q[i], b = q[i + 32], c = q[i + 64]; \
        T r = mix(a, b, c, k); \
        r ^= (a << (k & 31)) | (b >> 3) | ~c; \
        r += a / (b | 1) + a % (c | 1); \
        r += (a & b) ^ (b & ~c) ^ k; \
        p[i] = r; \
    }
INTEGER(i8, signed char)
INTEGER(u8, unsigned char)
INTEGER(i16, short)
INTEGER(u16, unsigned short)
INTEGER(i32, int)
INTEGER(u32, unsigned)
INTEGER(i64, long long)
INTEGER(u64, unsigned long long)

extern "C" __global__ void wide128(unsigned __int128 *p, const unsigned __int128 *q, int k) {
    unsigned __int128 a = q[threadIdx.x], b = q[threadIdx.x + 1];
    p[threadIdx.x] = a * b + (a >> k) - (b << 7);
}

extern "C" __global__ void bits(unsigned *p, const unsigned *q, unsigned long long *w, int k) {
    unsigned a = q[threadIdx.x], b = q[k];
    unsigned r = __popc(a) + __clz(b) + __ffs(a) + __brev(b) + __byte_perm(a, b, k) + __funnelshift_l(a, b, k)
        + __funnelshift_rc(a, b, 5) + __dp4a((int)a, (int)b, 3) + __dp2a_lo((int)a, (int)b, 7) + __sad((int)a, (int)b, a);
    r += __vadd2(a, b) + __vmaxs2(a, b) + __vabsdiffu4(a, b) + __vcmpeq2(a, b) + __vsads4(a, b);
    r += __umulhi(a, b) + __mulhi((int)a, (int)b) + __mul24((int)a, (int)b) + __usad(a, b, r) + __hadd((int)a, (int)b);
    w[threadIdx.x] = __popcll(w[k]) + __clzll(w[k + 1]) + __brevll(w[k + 2]) + __umul64hi(w[3], w[k]) + __ffsll(w[5]);
    unsigned f;
    asm("bfe.u32 %0, %1, %2, 7;" : "=r"(f) : "r"(a), "r"(b));
    r += f;
    asm("bfi.b32 %0, %1, %2, %3, 9;" : "=r"(f) : "r"(a), "r"(b), "r"(k));
    r += f;
    asm("bfind.s32 %0, %1;" : "=r"(f) : "r"(a));
    r += f;
    asm("lop3.b32 %0, %1, %2, %3, 0x1a;" : "=r"(f) : "r"(a), "r"(b), "r"(k));
    r += f;
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(f) : "r"(a), "r"(b), "r"(k));
    r += f;
    asm("szext.clamp.u32 %0, %1, %2;" : "=r"(f) : "r"(a), "r"(b));
    r += f;
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(f) : "r"(a), "r"(b));
    p[threadIdx.x] = r + f;
}

#define FLOATING(name, T) \
    extern "C" __global__ void name(T *p, const T *q, int k) { \
        int i = threadIdx.x; \
        T a = q[i], b = q[i + k], c = q[i + 2 * k]; \
        T r = mix(a, b, c, k); \
        r += sqrt(a) + rsqrt(b) + exp(c) + log(a) + sin(b) * cos(c) + a / b + pow(a, b) + tanh(c) + erf(a); \
        r += floor(a) + ceil(b) + rint(c) + trunc(a) + fabs(b) - copysign(a, b) + fma(a, -b, c) + fmod(a, c); \
        r += isnan(a) ? T(1) : T(0); \
        r += T((int)a) + T((unsigned)b) + T((long long)c) + T((short)a) + T((unsigned long long)b) + T((signed char)k); \
        p[i] = r; \
    }
FLOATING(f32, float)
FLOATING(f64, double)

extern "C" __global__ void fast(float *p, float *q, int k) {
    float a = p[threadIdx.x], b = p[k];
    q[threadIdx.x] = __sinf(a) + __cosf(b) + __expf(a) + __logf(b) + __fdividef(a, b) + __powf(a, b) + __frsqrt_rn(a) + __saturatef(a)
        + __fmaf_rz(a, b, a) + __fadd_ru(a, b) + __fmul_rd(a, b) + __fsqrt_rn(a) + __frcp_rn(b) + __tanf(a) + tanhf(a) + __fmaf_rn(a, 2.5f, b)
        + __int_as_float(__float2int_rd(a)) + __int2float_rz(k) + __uint2float_ru(k) + __float2half_rn(a).operator float();
    float2 x = {a, b}, y = {b, a}, z = {1, a}, w;
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(*(long long *)&w) : "l"(*(long long *)&x), "l"(*(long long *)&y), "l"(*(long long *)&z));
    asm("add.rn.f32x2 %0, %0, %1;" : "+l"(*(long long *)&w) : "l"(*(long long *)&y));
    asm("mul.rn.f32x2 %0, %0, %1;" : "+l"(*(long long *)&w) : "l"(*(long long *)&z));
    q[threadIdx.x + 512] = w.x + w.y;
}

extern "C" __global__ void mixed(float *f, double *d, long long *l, int *n, unsigned long long *u, int k) {
    int i = threadIdx.x;
    f[i] = (float)d[k] + (float)l[k] + (float)u[k] + (float)n[k];
    d[i] = (double)f[k + 1] + (double)l[k + 1] + (double)u[k + 1] + (double)n[k + 1];
    l[i] = (long long)f[k + 2] + (long long)d[k + 2];
    u[i] = (unsigned long long)f[k + 3] + (unsigned long long)d[k + 3] + __double2ull_ru(d[9]);
    n[i] = (int)f[k + 4] + (int)d[k + 4] + __double2hiint(d[k]) + __double2loint(d[i]) + (f[k] < d[k]) + (d[3] == d[k]);
    d[i + 99] = __dadd_ru(d[1], d[2]) + __dmul_rz(d[3], d[4]) + __fma_rd(d[1], d[2], d[k]) + rint(d[k]) + floor(d[4]) + max(d[5], d[6]);
}

extern "C" __global__ void halves(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2, int k) {
    int i = threadIdx.x;
    __half x = h[i], y = h[k];
    h[i] = __hfma(x, y, x) + hsin(x) + hexp(y) + hrcp(x) + hsqrt(y) + __hmax(x, y) + htanh(x) + __int2half_rn(k) + hrint(x) + hfloor(y);
    h[i + 1] = __hgt(x, y) ? x : __hneg(y);
    __half2 s = h2[i], t = h2[k];
    h2[i] = __hfma2(s, t, s) + __hmul2(s, t) + __hadd2_sat(s, t) + __hmax2(s, t) + __heq2(s, t) + __hfma2_relu(s, t, s) + h2exp2(s);
    __nv_bfloat16 v = b[i], w = b[k];
    b[i] = __hfma(v, w, v) + __float2bfloat16((float)k) + hexp2(v) + __hmin(v, w) + hlog2(w);
    __nv_bfloat162 m = b2[i], n = b2[k];
    b2[i] = __hfma2(m, n, m) + __hadd2(m, n) + __hmax2(m, n) + __hmul2(m, n);
    h[i + 2] = __hbeq2(s, t) ? __low2half(s) : __high2half(t);
}

extern "C" __global__ void bytes8(__nv_fp8_e4m3 *e, __nv_fp8x2_e5m2 *f, float *g, __nv_fp8x4_e4m3 *q, __half2 *h, int k) {
    int i = threadIdx.x;
    e[i] = __nv_fp8_e4m3(g[i] * g[k]);
    f[i] = __nv_fp8x2_e5m2(make_float2(g[i], g[k]));
    g[i] = (float)e[k] + float2(f[k]).x;
    q[i] = __nv_fp8x4_e4m3(make_float4(g[0], g[1], g[k], g[2]));
    h[i] = __half2(f[i + 1]);
}

extern "C" __global__ void predicates(int *p, const int *q, int k, double x, long long m) {
    bool a = q[0] < k, b = q[1] > q[2], c = q[3] == 7, d = (unsigned)q[4] > 9u, e = x < q[5], f = m > ((long long *)q)[6];
    int r = (a && b) ? q[7] : 0;
    if ((a ^ c) | (d & !e)) r += q[8];
    if (f || (b && !c)) r += q[9];
    r += (a && d) + (b != e) + (c | f);
    p[threadIdx.x] = r;
    p[threadIdx.x + 1] = a | b << 1 | c << 2 | d << 3 | e << 4 | f << 5;
}

extern "C" __global__ void carries(unsigned *p, const unsigned *q, int k) {
    unsigned a, b, c, d;
    asm("add.cc.u32 %0, %4, %5; addc.cc.u32 %1, %6, %7; addc.cc.u32 %2, %4, %7; addc.u32 %3, 0, 0;"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[k]));
    p[0] = a, p[1] = b, p[2] = c, p[3] = d;
    asm("mad.lo.cc.u32 %0, %4, %5, %6; madc.hi.cc.u32 %1, %6, %7, %4; sub.cc.u32 %2, %4, %7; subc.u32 %3, %5, 0;"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(q[3]), "r"(q[4]), "r"(q[5]), "r"(q[k + 1]));
    p[4] = a, p[5] = b, p[6] = c, p[7] = d;
}

// Values that are equal in all threads go to uniform registers.
extern "C" __global__ void uniform(int *p, int a, int b, long long c, float f, unsigned d, const int *q, double g) {
    int n = a * b + d;
    for (int i = 0; i < n; ++i) {
        int m = (i << (b & 7)) ^ (a & ~i) | (d >> i);
        if (m > a) p[i] = m + __popc(m) + min(m, b) + max(a, i);
        if (c * i > 100) p[i + m] = (int)(c >> 3) + q[i];
        if (f * i > 2.5f) p[m] = f + i;
        if (i % 3 == 1) p[i * 2] = __brev(m) + __clz(m) + abs(m) + m / 7;
    }
    p[threadIdx.x] = n * threadIdx.x + (a ? b : (int)d) + (int)(f * f + 1.5f) + (int)f;
    p[blockIdx.x] = (int)(g * n) + blockIdx.y * gridDim.x;
}
