// Small floats, and the mathematics of large ones.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__device__ __noinline__ __half2 h2(__half2 a, __half2 b) { return __hfma2(a, b, h2exp(a)); }
__global__ void hk(__half2 *o) { o[0] = h2(o[1], o[2]); }
__global__ void bk(__nv_bfloat16 *o) {
    o[0] = __hmul(o[1], o[2]) + __float2bfloat16(3.5f);
    atomicAdd((__nv_bfloat162 *)o, __nv_bfloat162{o[3], o[4]});
}
__global__ void fk(__nv_fp8_e4m3 *o, float f) { o[0] = __nv_fp8_e4m3(f); }
__global__ void dk(double *o) { o[0] = sin(o[1]) + pow(o[2], o[3]) + tgamma(o[4]) + j0(o[5]); }
__global__ void ik(long long *o, unsigned *u) {
    o[0] = o[1] / o[2] % o[3];
    u[0] = u[1] / u[2];
    o[4] = __mul64hi(o[1], o[2]);
}
void go(void *o) {
    hk<<<1, 1>>>((__half2 *)o);
    bk<<<1, 1>>>((__nv_bfloat16 *)o);
    fk<<<1, 1>>>((__nv_fp8_e4m3 *)o, 1);
    dk<<<1, 1>>>((double *)o);
    ik<<<1, 1>>>((long long *)o, (unsigned *)o);
}
