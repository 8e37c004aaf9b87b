// Device-side launches over two files, and other calls of the device runtime.
#include <cstdio>
__global__ void leaf(int *o, int d);
__global__ void tree(int *o, int depth) {
    if (threadIdx.x == 0 && depth > 0) {
        tree<<<1, 2>>>(o + 1, depth - 1);
        leaf<<<2, 32>>>(o, depth);
    }
}
__global__ void other(int *o) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    leaf<<<1, 1, 0, s>>>(o, 1);
    cudaStreamDestroy(s);
    printf("%d\n", (int)cudaGetLastError());
}
void go(int *o) {
    tree<<<1, 1>>>(o, 3);
    other<<<1, 1>>>(o);
}
