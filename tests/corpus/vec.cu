// A kernel, a device function of its own and one from elsewhere.
__device__ float scale(float x, float a);

__device__ __noinline__ float poly(float x, int n) {
    float r = 1.0f;
    for (int i = 0; i < n; ++i) r = r * x + 0.5f;
    return r;
}

extern "C" __global__ void axpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void curve(int n, float *y, char tag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = poly(y[i], n) + tag;
}

#ifdef RDC
extern "C" __global__ void scaled(int n, float a, float *y) {
    int i = threadIdx.x + blockIdx.z;
    if (i < n) y[i] = scale(y[i], a);
}
#endif
