// Location lists of inlined code that name labels which the compiler has removed: symbols that are
// local and undefined. They stand for symbol 0, which has a value in some of these links.
#include <cuda_fp8.h>

typedef int (*Choice)(int, int);
extern __constant__ Choice table[4];
static __constant__ short steps[16] = {1, 2, 3, 5, 8, 13, 21, 34};

__global__ void narrow(__nv_fp8_e4m3 *to, const float *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = __nv_fp8_e4m3(from[i]);
}

__global__ void run(int *x)
{
    x[0] = table[x[1] & 3](x[2], steps[x[3] & 15]);
}
