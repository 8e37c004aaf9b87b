// Double precision, and functions of single precision.
__global__ void relax(const double *in, double *out, int n, double weight, double *rest) {
    __shared__ double sums[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double d = 0;
    if (i > 0 && i < n - 1) {
        double v = fma(weight, in[i - 1] + in[i + 1], (1 - 2 * weight) * in[i]);
        d = fabs(v - in[i]);
        out[i] = v;
    }
    for (int o = 16; o; o /= 2) d = fmax(d, __shfl_xor_sync(~0u, d, o));
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = d;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w) d = fmax(d, sums[w]);
        rest[blockIdx.x] = d;
    }
}
__global__ void horner(const double *c, int degree, const double *x, double *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double v = 0, t = x[i];
        for (int k = degree; k >= 0; --k) v = v * t + c[k];
        y[i] = v;
    }
}
__global__ void newton(const double *a, double *root, int n) {
    int i = threadIdx.x;
    double x = a[i], t = __longlong_as_double(0x3ff0000000000000ll + (__double_as_longlong(x) >> 1));
    for (int k = 0; k < n; ++k) {
        double e = t * t - x;
        if (fabs(e) < 1e-12) break;
        t -= e * 0.25;
    }
    root[i] = t;
}
__global__ void sparse(const int *rows, const int *columns, const double *values, const double *x, double *y, int n) {
    int lane = threadIdx.x & 31, row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (row >= n) return;
    double sum = 0;
    for (int k = rows[row] + lane; k < rows[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (lane == 0) y[row] = sum;
}
__global__ void mixed(const double *d, const float *f, const int *n, const long long *l, double *out, float *g, int *m) {
    int i = threadIdx.x;
    double v = d[i] + f[i] + n[i] + (double)l[i];
    out[i] = v > 3 ? floor(v) : ceil(v * 0.5) + rint(v);
    g[i] = (float)v + (float)l[i] + truncf(f[i]);
    m[i] = (int)v + (int)f[i] + (int)(unsigned long long)d[i] + __float2int_rd(f[i]);
}
__global__ void functions(const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        float r = __sinf(v) * __expf(v) + __log2f(fabsf(v) + 1) + rsqrtf(v * v + 1) + tanhf(v) + __cosf(v);
        if (v > 1) r += expm1f(v) * erff(v) + cbrtf(v);
        y[i] = r;
    }
}
__global__ void option_prices(const float *s, const float *x, const float *t, float *call, float *put, float rate, float v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float root = __fsqrt_rn(t[i]);
    float d1 = __fdividef(__logf(__fdividef(s[i], x[i])) + (rate + 0.5f * v * v) * t[i], v * root), d2 = d1 - v * root;
    float n1 = normcdff(d1), n2 = normcdff(d2), e = __expf(-rate * t[i]);
    call[i] = s[i] * n1 - x[i] * e * n2;
    put[i] = x[i] * e * (1 - n2) - s[i] * (1 - n1);
}
__global__ void multiply(const double *a, const double *b, double *c, int n) {
    __shared__ double as[16][17], bs[16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    double sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; ++j) sum = fma(as[y][j], bs[j][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
