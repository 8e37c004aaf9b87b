// Tensor cores in double precision and with integers, and sums in double precision, which set scoreboards on some targets. ptxas
// has other rules for kernels with "cutlass" in their names: results of DMMA have a scoreboard for themselves, and on
// sm_120 their operands too.

__device__ inline void multiply(double (&d)[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
}

__device__ inline void multiply(int (&d)[4], int a, int b, int c) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a), "r"(b), "r"(c));
}

// Products of complex tiles out of shared memory: as many loads under way as there are scoreboards.
template <int Rows, int Columns>
__device__ void complex_tile(double2 *out, const double2 *left, const double2 *right, int steps) {
    extern __shared__ double2 tile[];
    for (int i = threadIdx.x; i < Rows * 64; i += 32) tile[i] = left[i];
    for (int i = threadIdx.x; i < Columns * 64; i += 32) tile[Rows * 64 + i] = right[i];
    __syncthreads();
    double real[Rows][Columns][2] = {}, imaginary[Rows][Columns][2] = {};
    for (int step = 0; step < steps; ++step) {
        double2 a[Rows], b[Columns];
#pragma unroll
        for (int r = 0; r < Rows; ++r) a[r] = tile[(step * Rows + r) * 32 + (threadIdx.x ^ (step & 4))];
#pragma unroll
        for (int c = 0; c < Columns; ++c) b[c] = tile[Rows * 64 + (step * Columns + c) * 32 + threadIdx.x];
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
            for (int c = 0; c < Columns; ++c) {
                multiply(real[r][c], a[r].x, b[c].x);
                multiply(real[r][c], -a[r].y, b[c].y);
                multiply(imaginary[r][c], a[r].x, b[c].y);
                multiply(imaginary[r][c], a[r].y, b[c].x);
            }
    }
    for (int r = 0; r < Rows; ++r)
        for (int c = 0; c < Columns; ++c)
            for (int k = 0; k < 2; ++k)
                out[((r * Columns + c) * 2 + k) * 32 + threadIdx.x] = make_double2(real[r][c][k] - imaginary[r][c][k], real[r][c][k] + imaginary[r][c][k]);
}

extern "C" __global__ void complex_1x1(double2 *out, const double2 *left, const double2 *right, int steps) { complex_tile<1, 1>(out, left, right, steps); }
extern "C" __global__ void cutlass_complex_1x1(double2 *out, const double2 *left, const double2 *right, int steps) { complex_tile<1, 1>(out, left, right, steps); }
extern "C" __global__ void complex_2x2(double2 *out, const double2 *left, const double2 *right, int steps) { complex_tile<2, 2>(out, left, right, steps); }
extern "C" __global__ void cutlass_complex_2x2(double2 *out, const double2 *left, const double2 *right, int steps) { complex_tile<2, 2>(out, left, right, steps); }
extern "C" __global__ void complex_4x4(double2 *out, const double2 *left, const double2 *right, int steps) { complex_tile<4, 4>(out, left, right, steps); }
extern "C" __global__ void cutlass_complex_4x4(double2 *out, const double2 *left, const double2 *right, int steps) { complex_tile<4, 4>(out, left, right, steps); }

// The same with integers, and sums in double precision.
template <int Rows, int Columns>
__device__ void integer_tile(int *out, double *sums, const int4 *left, const int4 *right, int steps) {
    extern __shared__ int4 words[];
    for (int i = threadIdx.x; i < Rows * 64; i += 32) words[i] = left[i];
    for (int i = threadIdx.x; i < Columns * 64; i += 32) words[Rows * 64 + i] = right[i];
    __syncthreads();
    int all[Rows][Columns][4] = {};
    double sum = 0;
    for (int step = 0; step < steps; ++step) {
        int4 a[Rows], b[Columns];
#pragma unroll
        for (int r = 0; r < Rows; ++r) a[r] = words[(step * Rows + r) * 32 + (threadIdx.x ^ (step & 4))];
#pragma unroll
        for (int c = 0; c < Columns; ++c) b[c] = words[Rows * 64 + (step * Columns + c) * 32 + threadIdx.x];
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
            for (int c = 0; c < Columns; ++c) {
                multiply(all[r][c], a[r].x, a[r].y, b[c].x);
                multiply(all[r][c], a[r].z, a[r].w, b[c].y);
            }
        sum = sum * 0.5 + all[0][0][0];
    }
    sums[threadIdx.x] = sum;
    for (int r = 0; r < Rows; ++r)
        for (int c = 0; c < Columns; ++c)
            for (int k = 0; k < 4; ++k) out[((r * Columns + c) * 4 + k) * 32 + threadIdx.x] = all[r][c][k];
}

extern "C" __global__ void integer_1x2(int *out, double *sums, const int4 *left, const int4 *right, int steps) { integer_tile<1, 2>(out, sums, left, right, steps); }
extern "C" __global__ void cutlass_integer_1x2(int *out, double *sums, const int4 *left, const int4 *right, int steps) { integer_tile<1, 2>(out, sums, left, right, steps); }
extern "C" __global__ void integer_2x2(int *out, double *sums, const int4 *left, const int4 *right, int steps) { integer_tile<2, 2>(out, sums, left, right, steps); }
extern "C" __global__ void cutlass_integer_2x2(int *out, double *sums, const int4 *left, const int4 *right, int steps) { integer_tile<2, 2>(out, sums, left, right, steps); }
extern "C" __global__ void cutlass_integer_4x4(int *out, double *sums, const int4 *left, const int4 *right, int steps) { integer_tile<4, 4>(out, sums, left, right, steps); }

// Chains in double precision with results of loads in between.
extern "C" __global__ void momenta(int count, const double *mass, const double *x, const double *y, const double *z, double *out, double scale) {
    __shared__ double shared[4][128];
    double sum[4] = {};
    for (int i = threadIdx.x; i < count; i += 128) {
        double m = mass[i] * scale;
        sum[0] += m;
        sum[1] += x[i] * m;
        sum[2] += y[i] * m;
        sum[3] += z[i] * m;
    }
    for (int k = 0; k < 4; ++k) shared[k][threadIdx.x] = sum[k];
    __syncthreads();
    for (int offset = 64; offset > 0; offset >>= 1) {
        if (threadIdx.x < offset)
            for (int k = 0; k < 4; ++k) shared[k][threadIdx.x] += shared[k][threadIdx.x + offset];
        __syncthreads();
    }
    if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = shared[threadIdx.x][0];
}
