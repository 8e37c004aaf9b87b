__device__ int heavy2(int *p) {
    int a[60];
#pragma unroll
    for (int i = 0; i < 60; i++) a[i] = p[i] * p[i + 60];
#pragma unroll
    for (int i = 0; i < 60; i++) p[i] = a[i] * a[59 - i] + a[(i * 7) % 60];
    return a[3];
}
