// Matrix products of all generations that every target has, and the loads that feed them.
#include <mma.h>
using namespace nvcuda;
template <class A, class C, int M, int N, int K, class LA = wmma::row_major, class LB = wmma::col_major>
__device__ void product(const void *a, const void *b, void *c, int k) {
    typedef typename wmma::fragment<wmma::accumulator, M, N, K, C>::element_type E;
    wmma::fragment<wmma::matrix_a, M, N, K, A, LA> x;
    wmma::fragment<wmma::matrix_b, M, N, K, A, LB> y;
    wmma::fragment<wmma::accumulator, M, N, K, C> z;
    wmma::fill_fragment(z, C(0));
    for (int i = 0; i < k; ++i) {
        wmma::load_matrix_sync(x, (const std::remove_reference_t<decltype(x.x[0])> *)a + i * 64, 64);
        wmma::load_matrix_sync(y, (const std::remove_reference_t<decltype(y.x[0])> *)b + i * 64, 64);
        wmma::mma_sync(z, x, y, z);
    }
    wmma::store_matrix_sync((E *)c, z, 64, wmma::mem_row_major);
}
#define PRODUCT(name, ...) \
    extern "C" __global__ void name(const void *a, const void *b, void *c, int k) { product<__VA_ARGS__>(a, b, c, k); }
PRODUCT(h16, __half, float, 16, 16, 16)
PRODUCT(h16h, __half, __half, 16, 16, 16, wmma::col_major, wmma::row_major)
PRODUCT(h32, __half, float, 32, 8, 16)
PRODUCT(i8, signed char, int, 16, 16, 16)
PRODUCT(b16, __nv_bfloat16, float, 8, 32, 16)
PRODUCT(d8, double, double, 8, 8, 4)
extern "C" __global__ void shapes(float *f, unsigned *u, int *n, double *d, int k) {
    __shared__ unsigned s[1024];
    s[threadIdx.x] = u[threadIdx.x];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s + k), a, b, c, e;
    float r0 = f[0], r1 = f[k], r2 = f[2], r3 = f[3];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(e) : "r"(at));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at + 64));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(c) : "r"(at + 128));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6,%5,%7}, {%0,%1,%2,%3}, %8, 0;" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c), "r"(e), "r"(u[k]));
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+f"(r0), "+f"(r1), "+f"(r2), "+f"(r3) : "r"(a), "r"(b), "r"(c));
    f[4] = r0, f[5] = r1, f[6] = r2, f[7] = r3;
    unsigned h0 = a, h1 = b;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%2,%4}, {%0,%1};" : "+r"(h0), "+r"(h1) : "r"(a), "r"(b), "r"(c), "r"(e));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(h0), "+r"(h1) : "r"(a), "r"(b), "r"(c));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(at + 256), "r"(h0), "r"(h1));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at + 512), "r"(h0), "r"(h1), "r"(a), "r"(b));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(h0) : "r"(h1));
    int i0 = n[0], i1 = n[1], i2 = n[2], i3 = n[k];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(a), "r"(b), "r"(c), "r"(e));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(a), "r"(b), "r"(c));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(i0), "+r"(i1) : "r"(a), "r"(b));
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(a), "r"(b), "r"(c), "r"(e));
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(a), "r"(b), "r"(c), "r"(e));
    n[4] = i0 + h0, n[5] = i1, n[6] = i2, n[7] = i3 + s[k + 9];
    double d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d0), "+d"(d1) : "d"(d2), "d"(d3));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%6}, {%0,%1,%2,%3};" : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(d[k]), "d"(d[5]), "d"(d[6]), "d"(d[7]));
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(d[k]), "d"(d[8]), "d"(d[9]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%4,%6,%5,%7}, {%4,%6,%7,%5}, {%0,%1,%2,%3};" : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(d[k]), "d"(d[5]), "d"(d[6]), "d"(d[7]));
    d[10] = d0, d[11] = d1, d[12] = d2, d[13] = d3;
}
