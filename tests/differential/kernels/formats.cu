// Conversions from and to 16, 8, 6 and 4 bits, and arithmetic on pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
__global__ void quantise(const float *in, __nv_fp8_e4m3 *out, float *scales, int n) {
    __shared__ float most[8];
    float v[4], top = 0;
    for (int i = 0; i < 4; ++i) v[i] = in[(blockIdx.x * 4 + i) * blockDim.x + threadIdx.x], top = fmaxf(top, fabsf(v[i]));
    for (int o = 16; o; o /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
    if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = top;
    __syncthreads();
    for (int i = 0; i < blockDim.x / 32; ++i) top = fmaxf(top, most[i]);
    float scale = __frcp_rn(top) * 448;
    for (int i = 0; i < 4; ++i) out[(blockIdx.x * 4 + i) * blockDim.x + threadIdx.x] = __nv_fp8_e4m3(v[i] * scale);
    if (threadIdx.x == 0) scales[blockIdx.x] = top;
}
__global__ void from_small(const __nv_fp8x4_e5m2 *a, const __nv_fp6x2_e3m2 *b, const __nv_fp4x4_e2m1 *c, float4 *out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 x = (float4)a[i], z = (float4)c[i];
        float2 y = (float2)b[i];
        out[i] = make_float4(x.x + y.x, x.y * y.y, x.z + z.x * z.y, x.w - z.z - z.w);
    }
}
__global__ void to_small(const float4 *in, __nv_fp4x4_e2m1 *a, __nv_fp6x4_e2m3 *b, __nv_fp8x4_e4m3 *c, __nv_fp8_e8m0 *d, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 v = in[i];
        a[i] = __nv_fp4x4_e2m1(v);
        b[i] = __nv_fp6x4_e2m3(v);
        c[i] = __nv_fp8x4_e4m3(v);
        d[i] = __nv_fp8_e8m0(v.x);
    }
}
__global__ void pairs(const __half2 *a, const __half2 *b, __half2 *out, const __nv_bfloat162 *c, __nv_bfloat162 *d, int n) {
    __half2 sum = __float2half2_rn(0);
    __nv_bfloat162 other = __float2bfloat162_rn(1);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum = __hfma2(a[i], b[i], sum);
        if (__hbgt2(a[i], b[i])) sum = __hmax2(sum, __hmul2(a[i], h2exp2(b[i])));
        other = __hfma2(c[i], other, __hadd2(c[i], other));
        other = __hmin2(other, h2rsqrt(c[i]));
    }
    out[threadIdx.x] = __hadd2_sat(sum, h2rcp(sum)), d[threadIdx.x] = __habs2(other);
}
__global__ void normalise(const __nv_bfloat16 *in, const __nv_bfloat16 *weight, __nv_bfloat16 *out, int n, float small) {
    __shared__ float parts[32];
    const uint4 *row = (const uint4 *)(in + blockIdx.x * n);
    float sum = 0;
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) {
        uint4 v = row[i];
        const __nv_bfloat162 *p = (const __nv_bfloat162 *)&v;
        for (int j = 0; j < 4; ++j) {
            float2 f = __bfloat1622float2(p[j]);
            sum += f.x * f.x + f.y * f.y;
        }
    }
    for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x == 0) parts[0] = rsqrtf(sum / n + small);
    __syncthreads();
    float scale = parts[0];
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = __float2bfloat16(__bfloat162float(in[blockIdx.x * n + i]) * scale * __bfloat162float(weight[i]));
}
__global__ void packed(const float2 *a, const float2 *b, float2 *out, int n) {
    float2 s = make_float2(0, 0);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        asm("{.reg .b64 x, y, z; mov.b64 x, {%2,%3}; mov.b64 y, {%4,%5}; mov.b64 z, {%0,%1}; fma.rn.f32x2 z, x, y, z; add.rn.f32x2 z, z, x; mul.rn.f32x2 z, z, y; mov.b64 {%0,%1}, z;}" : "+f"(s.x), "+f"(s.y) : "f"(a[i].x), "f"(a[i].y), "f"(b[i].x), "f"(b[i].y));
        float m;
        asm("max.f32 %0, %1, %2, %3;" : "=f"(m) : "f"(s.x), "f"(s.y), "f"(a[i].x));
        s.x = m;
    }
    out[threadIdx.x] = s;
}
