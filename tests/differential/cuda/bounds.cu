// Launch bounds and register limits above a hungry function.
__device__ __noinline__ float work(float *p, int n) {
    float a[32];
    for (int i = 0; i < 32; i++)
        a[i] = p[i * n];
    float s = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 32; i++)
            s += a[i] * a[(i + j) & 31];
    return s;
}
__global__ void __launch_bounds__(1024) b1(float *o) { o[0] = work(o, 3); }
__global__ void __launch_bounds__(128, 4) b2(float *o) { o[0] = work(o, 5) + o[2]; }
template <int N> __global__ void __launch_bounds__(N) b3(float *o) {
    __shared__ float s[N];
    s[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[N - 1 - threadIdx.x];
}
__global__ void __maxnreg__(64) b4(float *o) { o[1] = work(o, 1); }
void go(float *o) {
    b1<<<1, 1>>>(o);
    b2<<<1, 1>>>(o);
    b3<64><<<1, 64>>>(o);
    b3<256><<<1, 256>>>(o);
    b4<<<1, 1>>>(o);
}
