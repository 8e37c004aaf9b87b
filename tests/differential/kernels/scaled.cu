// Products of 8, 6 and 4 bits with a scale for each block, dense and sparse (sm_120a and later).
typedef unsigned u32;
#define SUMS "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
#define FACTORS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define PRODUCTS(name, text) \
    __global__ void name(const uint4 *x, const uint2 *y, const u32 *scale, float *out, int n) { \
        float c[4] = {out[threadIdx.x], 0, 1, 2}; \
        for (int i = 0; i < n; ++i) { \
            uint4 va = x[i * 32 + threadIdx.x]; \
            uint2 vb = y[i * 32 + threadIdx.x]; \
            u32 a[4] = {va.x, va.y, va.z, va.w}, b[2] = {vb.x, vb.y}; \
            asm volatile(text : SUMS : FACTORS, "r"(scale[i]), "r"(scale[i + n])); \
        } \
        for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = c[i]; \
    }
#define KERNEL(name, text) PRODUCTS(name, "mma.sync.aligned." text)
#define DENSE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}"
#define SCALES ", {%10}, {0,0}, {%11}, {0,0};"
KERNEL(eight, "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0" DENSE ", {%10}, {1,0}, {%11}, {2,1};")
KERNEL(six, "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m3.f32.ue8m0" DENSE SCALES)
KERNEL(four, "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0" DENSE SCALES)
KERNEL(four_fine, "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3" DENSE SCALES)
KERNEL(four_coarse, "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0" DENSE SCALES)
KERNEL(plain, "m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e2m1.f32" DENSE "; // %10 %11")
#define SPARSE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%8,%9}, {%0,%1,%2,%3}, %10, 0"
PRODUCTS(sparse_plain, "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32" SPARSE "; // %11")
#undef KERNEL
#undef PRODUCTS
__global__ void sums_of_halves(const uint4 *x, u32 *out, int n) {
    u32 c0 = 0, c1 = 1;
    for (int i = 0; i < n; ++i) {
        uint4 v = x[i * 32 + threadIdx.x];
        asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e4m3.e3m2.f16 {%0,%1}, {%2,%3,%4,%5}, {%2,%4}, {%0,%1};" : "+r"(c0), "+r"(c1) : "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(c0), "+r"(c1) : "r"(v.x), "r"(v.y), "r"(v.z));
    }
    out[threadIdx.x] = c0, out[threadIdx.x + 32] = c1;
}
__global__ void sparse_scaled(const uint4 *x, const uint4 *y, const u32 *scale, float *out, int n) {
    float c[4] = {0, 1, 2, 3};
    for (int i = 0; i < n; ++i) {
        uint4 a = x[i * 32 + threadIdx.x], b = y[i * 32 + threadIdx.x];
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0, {%13}, {0,0}, {%14}, {0,0};" : SUMS : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w), "r"(scale[0]), "r"(scale[i]), "r"(scale[i + n]));
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0, {%13}, {0,0}, {%14}, {0,0};" : SUMS : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w), "r"(scale[0]), "r"(scale[i]), "r"(scale[i + n]));
    }
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = c[i];
}
__global__ void matrices_of_bytes(const u32 *in, u32 *out, int k) {
    __shared__ alignas(16) u32 s[512];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    u32 at = (u32)__cvta_generic_to_shared(s + k), a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    out[threadIdx.x] = a + b + c + d;
    asm volatile("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at + 64));
    out[threadIdx.x + 32] = a ^ b ^ c ^ d;
    asm volatile("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at + 128));
    asm volatile("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%0], {%1,%2};" ::"r"(at), "r"(a), "r"(b));
    __syncthreads();
    out[threadIdx.x + 64] = s[threadIdx.x + k];
}
