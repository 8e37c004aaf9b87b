// Recursion, direct and mutual, and chains of templates.
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ int odd(int n);
__device__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
template <int N> __device__ __noinline__ int down(int x) { return down<N - 1>(x * N) + x; }
template <> __device__ __noinline__ int down<0>(int x) { return x; }
__device__ __noinline__ int big(int *p) {
    int a[100];
    for (int i = 0; i < 100; i++)
        a[i] = p[i];
    return a[p[0]] + a[p[1]];
}
__global__ void kfib(int *o) { o[0] = fib(o[1]); }
__global__ void kodd(int *o) { o[0] = odd(o[1]) + even(o[2]); }
__global__ void kdown(int *o) { o[0] = down<6>(o[1]) + big(o); }
void go(int *o) {
    kfib<<<1, 1>>>(o);
    kodd<<<1, 1>>>(o);
    kdown<<<1, 1>>>(o);
}
