// Ends of threads behind and before calls within a function, of itself and of its own parts (division): with -g barriers come
// before every EXIT, and what is called moves.

extern "C" __global__ void quotients(int n, const double *a, const double *b, double *c, float *f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    c[i] = a[i] / b[i];
    if (c[i] > 3) return;
    f[i] = sqrtf(f[i]) / f[i + 1];
    c[i] = sqrt(c[i]) + 1 / c[i + 1];
}

__device__ __noinline__ int numbers(int n) {
    if (n < 2) return n;
    if (n > 40) asm volatile("exit;");
    return numbers(n - 1) + numbers(n - 2);
}

extern "C" __global__ void recursive(int *x) {
    x[0] = numbers(x[1]);
    if (x[0] > 7) asm volatile("exit;");
    x[2] = numbers(3);
}

__device__ __noinline__ double part(double a, double b, int *x) {
    if (x[0] > 3) asm volatile("exit;");
    return a / b;
}

extern "C" __global__ void parts(double *a, int *x) { a[0] = part(a[1], a[2], x); }
