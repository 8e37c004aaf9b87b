__device__ __noinline__ int heavy(int *p) {
    int a[40];
#pragma unroll
    for (int i = 0; i < 40; i++) a[i] = p[i] * p[i + 40];
#pragma unroll
    for (int i = 0; i < 40; i++) p[i] = a[i] * a[39 - i] + a[(i * 7) % 40];
    __syncthreads();
    asm volatile("bar.sync 5;");
    return a[3];
}
__device__ __noinline__ int middle(int *p) {
    volatile int b[64];
    for (int i = 0; i < 64; i++) b[i] = p[i];
    return heavy(p) + b[p[0] & 63];
}
__global__ void kdeep(int *p) { *p = middle(p); }
__global__ void kheavy(int *p) { *p = heavy(p); }
__global__ void klight(int *p) { *p = 3; }
__device__ int (*pointer)(int *) = heavy;
__global__ void kindirect(int *p) { *p = pointer(p); }
