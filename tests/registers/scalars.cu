// Arithmetic on values that are equal in all threads, and operations of three operands.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void three(int *p, const int *q, int k, unsigned u) {
    int a = q[threadIdx.x], b = q[threadIdx.x + 1], c = q[threadIdx.x + 2];
    unsigned d = a, e = b, f = c;
    p[0] = max(max(a, b), c);
    p[1] = min(min(a, b), c);
    p[2] = max(max(d, e), f);
    p[3] = min(min(d, e), f);
    p[4] = max(max(a, 17), k), p[5] = min(min(a, k), b), p[6] = max(max(d, u), e), p[7] = min(min(d, e), 99u);
    p[8] = __vimax3_s32_relu(a, b, c), p[9] = __vimin3_s32_relu(a, b, k);
    p[10] = __vimax3_s16x2(a, b, c), p[11] = __vimin3_u16x2(a, b, c), p[12] = __vimax3_s16x2_relu(a, k, c);
    p[13] = __vimin3_s16x2_relu(a, b, 0x30004), p[14] = __vimax3_u16x2(a, b, k);
    if (a > k) p[15] = max(max(a, c), k);
    float x = __int_as_float(a), y = __int_as_float(b), z = __int_as_float(c);
    p[16] = __float_as_int(fmaxf(fmaxf(x, y), z)), p[17] = __float_as_int(fminf(fminf(x, 2.5f), z));
}

extern "C" __global__ void floats(float *p, float a, float b, float c, int n, int m, const float *q) {
    float s = a * b, t = a - 1, u = a * c + b;
    for (int i = 0; i < n; ++i) {
        s = s * u + t;
        t = s > b ? t - s : fabsf(a);
        u = u * -0.2679f;
        if (s < c || t == 0) u = u + u;
        if (fabsf(t) >= 1.175e-38f && s != u) p[i] = s + t;
        p[i + m] = fminf(s, t) + fmaxf(u, c) + sqrtf(s) + a / t + logf(u);
    }
    bool over = a > b, under = b < c, equal = a == c;
    for (int i = 0; i < m; ++i) {
        if (over) p[i] = q[i] * a;
        if (under && !equal) p[i + 1] = q[i + 1] / c;
        if (equal || (over && i > n)) p[i + 2] = s + (float)i;
    }
    p[threadIdx.x] = s + t * u;
    p[blockIdx.x] = (over ? s : u) + (under ? 1.5f : t);
}

extern "C" __global__ void divisions(float *p, const float *q, float a, float b) {
    float x = q[threadIdx.x];
    p[threadIdx.x] = x / 3.7f + x / a + a / b + 5.5f / x;
    p[blockIdx.x] = a / x + logf(a) + powf(b, x) + tanf(a * b);
}

extern "C" __global__ void kinds(__half *h, const __nv_bfloat16 *b, __nv_bfloat16 *c, __half g) {
    __nv_bfloat16 x = b[threadIdx.x];
    h[threadIdx.x] = __float2half(__bfloat162float(x));
    c[threadIdx.x] = __float2bfloat16(__half2float(g));
    unsigned short f;
    asm("{.reg .b16 t; cvt.rn.bf16.f16 %0, %1;}" : "=h"(f) : "h"(__half_as_ushort(h[blockIdx.x])));
    c[blockIdx.x] = __ushort_as_bfloat16(f);
    asm("cvt.rn.f16.bf16 %0, %1;" : "=h"(f) : "h"(__bfloat16_as_ushort(x)));
    h[blockIdx.y] = __ushort_as_half(f);
}

// A guard of the uniform data path.
extern "C" __global__ void __cluster_dims__(2) ranks(int *p, int k) {
    __shared__ int s[64];
    unsigned rank;
    if (k > 3) {
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        p[rank] = k;
    }
    s[threadIdx.x] = k;
    if (k != 5) {
        unsigned to;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(to) : "r"((unsigned)__cvta_generic_to_shared(s)));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(to));
    }
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x ^ 1];
}

extern "C" __global__ void logarithms(float *p, float a, float b, int n) {
    float s = logf(a), t = powf(a, b);
    int k = a > b ? n : 3;
    p[threadIdx.x] = (s + t) * threadIdx.x + k;
    if (n == 4) p[n] = logf(b) * a;
}

extern "C" __global__ void chosen(float *p, const float *q, float a, float b, float c, int n) {
    bool x = a < b, y = b < c, z = c == a;
    float u = x ? a : -24.0f, v = y ? fabsf(b) : a, w = a + a;
    for (int i = threadIdx.x; i < n; i += 128) {
        float r = q[i];
        if (x) r = r * u + v;
        if (y) r = sinf(r) + w;
        if (z || y) r = r / v;
        p[i] = x && !z ? r : r - c;
    }
}

// A choice of 64 bits that is equal in all threads: USEL.64 from sm_120 on.
extern "C" __global__ void clipped(long long *p, const long long *q, long long n, long long m, int k) {
    long long block = blockIdx.x, at = block < n ? block : -1, more = k == 3 ? at * m : 7;
    p[threadIdx.x] = q[threadIdx.x + at] + more;
}

// A power of a value that is equal in all threads, in a loop.
extern "C" __global__ void decay(float *p, float *q, const float *g, float rate, float first, float second, int steps, unsigned n) {
    unsigned stride = blockDim.x * gridDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        for (int step = 1; step <= steps; ++step) {
            float x = g[i] + rate;
            p[i] = first * p[i] + (1 - first) * x;
            q[i] = second * q[i] + (1 - second) * x * x;
            p[i] = p[i] / (1 - powf(first, step)) - rate * sqrtf(q[i] / (1 - powf(second, step)));
        }
    }
}

extern "C" __global__ void ceilings(float *out, int n, float s) {
    for (int i = threadIdx.x; i < n; i += 32)
        out[i] = ceilf(n * s) + floorf(gridDim.x * s) * out[i];
}
