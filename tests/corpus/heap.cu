// Device heap, assertion and trap.
#include <cassert>
__global__ void heap(int n, int **out) {
    int *p = (int *)malloc(n * sizeof(int));
    assert(p != nullptr);
    p[n - 1] = clock();
    out[threadIdx.x] = p;
    if (n > 1000) __trap();
    free(p);
}
