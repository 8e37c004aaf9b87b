// Kernels that are launched from device code.
struct Big {
    double d[20];
};
__global__ void withBig(Big b, int *o) { o[0] = b.d[threadIdx.x]; }
__global__ void leaf(int *o, int d) {
    Big b{};
    b.d[3] = d;
    if (d > 2)
        withBig<<<1, 3, 128, cudaStreamTailLaunch>>>(b, o);
    else
        o[threadIdx.x] = d;
}
__global__ void copier(int *o, int *p) {
    cudaMemcpyAsync(o, p, 64, cudaMemcpyDeviceToDevice, 0);
    cudaMemsetAsync(p, 0, 32, 0);
    void *q;
    cudaMalloc(&q, 8);
    cudaFree(q);
    int dev;
    cudaGetDevice(&dev);
    o[0] = dev;
}
void goB(int *o) { copier<<<1, 1>>>(o, o + 100); }
