// Second file of `grid`.
__device__ int neighbour(const int *data, int at, int count) {
    return ((const volatile int *)data)[(at + 1) % count];
}
