// Matrix products by mma.sync, fed by LDGSTS and ldmatrix in stages.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
typedef unsigned u32;
__device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void copy16(void *to, const void *from, bool whole) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at(to)), "l"(from), "r"(whole ? 16 : 0));
}
__device__ void load4(u32 (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)));
}
__device__ void load4t(u32 (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)));
}
#define MMA(name, type, shape, kinds) \
    struct name { \
        static __device__ void run(type (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { \
            asm volatile("mma.sync.aligned." shape ".row.col." kinds " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                         : "+" LETTER(c[0]), "+" LETTER(c[1]), "+" LETTER(c[2]), "+" LETTER(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
        } \
    };
#define LETTER(x) "f"(x)
MMA(Half, float, "m16n8k16", "f32.f16.f16.f32")
MMA(Brain, float, "m16n8k16", "f32.bf16.bf16.f32")
MMA(Tensor32, float, "m16n8k8", "f32.tf32.tf32.f32")
MMA(Eight, float, "m16n8k32", "f32.e4m3.e5m2.f32")
#undef LETTER
#define LETTER(x) "r"(x)
MMA(Bytes, int, "m16n8k32", "s32.s8.s8.s32")
template <class Product, class Sum, int STAGES>
__device__ void multiply(const char *a, const char *b, Sum *c, int bytes, int depth) {
    __shared__ alignas(128) char as[STAGES][64 * 64], bs[STAGES][64 * 64];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const char *from[2] = {a + (size_t)(blockIdx.y * 64 + t / 2) * bytes, b + (size_t)(blockIdx.x * 64 + t / 2) * bytes};
    auto fetch = [&](int stage, int k) {
        for (int i = 0; i < 2; ++i) {
            int column = (t % 2 * 2 + i) * 16, place = t / 2 * 64 + (column ^ (t / 2 % 4 * 16));
            copy16(as[stage] + place, from[0] + k + column, k < bytes);
            copy16(bs[stage] + place, from[1] + k + column, k < bytes);
        }
        asm volatile("cp.async.commit_group;");
    };
    Sum sum[8][4] = {};
    for (int s = 0; s < STAGES - 1; ++s) fetch(s, s * 64);
    for (int k = 0; k < depth; ++k) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        fetch((k + STAGES - 1) % STAGES, (k + STAGES - 1) * 64);
        const char *x = as[k % STAGES], *y = bs[k % STAGES];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            u32 fa[4], fb[4];
            load4(fa, x + (warp * 16 + lane % 16) * 64 + ((half * 32 + lane / 16 * 16) ^ (lane % 4 * 16)));
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                load4(fb, y + (n * 16 + lane % 16) * 64 + ((half * 32 + lane / 16 * 16) ^ (lane % 4 * 16)));
                Product::run(sum[2 * n], fa, fb[0], fb[2]);
                Product::run(sum[2 * n + 1], fa, fb[1], fb[3]);
            }
        }
    }
    asm volatile("cp.async.wait_all;");
    for (int n = 0; n < 8; ++n)
        for (int i = 0; i < 4; ++i) c[(blockIdx.y * 64 + warp * 16 + lane / 4 + i / 2 * 8) * gridDim.x * 64 + blockIdx.x * 64 + n * 8 + lane % 4 * 2 + i % 2] = sum[n][i];
}
#define PRODUCT(name, product, sum, stages) \
    __global__ void __launch_bounds__(128) name(const char *a, const char *b, sum *c, int bytes, int depth) { multiply<product, sum, stages>(a, b, c, bytes, depth); }
PRODUCT(halves, Half, float, 3)
PRODUCT(brains, Brain, float, 4)
PRODUCT(tensors, Tensor32, float, 2)
PRODUCT(eights, Eight, float, 3)
PRODUCT(bytes, Bytes, int, 3)
__global__ void attention(const __half *q, const __half *k, const __half *v, float *o, int n, float scale) {
    __shared__ alignas(128) __half ks[64][64], vs[64][64];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 fq[4][4];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            fq[i][j] = *(const u32 *)(q + (blockIdx.x * 64 + warp * 16 + lane / 4 + j % 2 * 8) * 64 + i * 16 + lane % 4 * 2 + j / 2 * 8);
    float sum[8][4] = {}, top[2] = {-1e30f, -1e30f}, whole[2] = {};
    for (int tile = 0; tile < n; tile += 64) {
        __syncthreads();
        for (int i = threadIdx.x; i < 512; i += 128) {
            ((uint4 *)ks)[i] = ((const uint4 *)(k + tile * 64))[i];
            ((uint4 *)vs)[i] = ((const uint4 *)(v + tile * 64))[i];
        }
        __syncthreads();
        float score[8][4] = {};
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int m = 0; m < 4; ++m) {
                u32 f[4];
                load4(f, &ks[m * 16 + lane % 16][i * 16 + lane / 16 * 8]);
                Half::run(score[2 * m], fq[i], f[0], f[2]);
                Half::run(score[2 * m + 1], fq[i], f[1], f[3]);
            }
        for (int h = 0; h < 2; ++h) {
            float best = top[h];
            for (int m = 0; m < 8; ++m) best = fmaxf(best, fmaxf(score[m][2 * h], score[m][2 * h + 1]) * scale);
            best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
            best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
            float shrink = exp2f(top[h] - best), part = 0;
            for (int m = 0; m < 8; ++m)
                for (int j = 0; j < 2; ++j) part += score[m][2 * h + j] = exp2f(score[m][2 * h + j] * scale - best);
            whole[h] = whole[h] * shrink + part;
            top[h] = best;
            for (int m = 0; m < 8; ++m) sum[m][2 * h] *= shrink, sum[m][2 * h + 1] *= shrink;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            u32 p[4];
            for (int j = 0; j < 4; ++j) {
                __half2 pair = __floats2half2_rn(score[2 * i + j / 2][j % 2 * 2], score[2 * i + j / 2][j % 2 * 2 + 1]);
                p[j] = *(u32 *)&pair;
            }
            for (int m = 0; m < 4; ++m) {
                u32 f[4];
                load4t(f, &vs[i * 16 + lane % 16][m * 16 + lane / 16 * 8]);
                Half::run(sum[2 * m], p, f[0], f[1]);
                Half::run(sum[2 * m + 1], p, f[2], f[3]);
            }
        }
    }
    for (int m = 0; m < 8; ++m)
        for (int j = 0; j < 4; ++j) o[(blockIdx.x * 64 + warp * 16 + lane / 4 + j / 2 * 8) * 64 + m * 8 + lane % 4 * 2 + j % 2] = __fdividef(sum[m][j], whole[j / 2]);
}
__global__ void doubles(const double *a, const double *b, double *c, int k) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 8, 8, 4, double, row_major> x;
    fragment<matrix_b, 8, 8, 4, double, col_major> y;
    fragment<accumulator, 8, 8, 4, double> z;
    fill_fragment(z, 0.0);
    for (int i = 0; i < k; i += 4) {
        load_matrix_sync(x, a + i, k);
        load_matrix_sync(y, b + i, k);
        mma_sync(z, x, y, z);
    }
    store_matrix_sync(c, z, 8, mem_row_major);
}
