// Tiles of half precision, bfloat16 and double precision; -G keeps the small functions of the headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__constant__ __half2 bias[8];

template <int T>
__global__ void multiply(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[T][T + 1], right[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        left[threadIdx.y][threadIdx.x] = row < n ? a[row * n + k + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = column < n ? b[(k + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}
template __global__ void multiply<16>(const float *, const float *, float *, int);

__global__ void fragments(const __half *a, const __half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.f);
    for (int i = 0; i < 8; i++) {
        wmma::load_matrix_sync(left, a + i * 256, 16);
        wmma::load_matrix_sync(right, b + i * 256, 16);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void halves(__half2 *p, __nv_bfloat162 *q, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = __hfma2(p[i], bias[i & 7], h2exp(p[i]));
        q[i] = __hadd2(q[i], h2sqrt(q[i]));
    }
}

// Alone in needing double precision.
__global__ void doubles(double *p, float *q, long long *r)
{
    int i = threadIdx.x;
    p[i] = exp(p[i]) / sqrt(p[i + 1]);
    q[i] = powf(q[i], 2.5f);
    r[i] = r[i] / (r[i + 1] | 1);
}
