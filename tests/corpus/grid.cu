// Grid-wide synchronisation, fixed block sizes, half precision and double.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

__global__ void grid_step(double *d, __half *h) {
    d[threadIdx.x] = sqrt(d[threadIdx.x]) / 3.0;
    h[threadIdx.x] = __hadd(h[threadIdx.x], h[0]);
    cooperative_groups::this_grid().sync();
    d[0] += sin(d[1]);
}

struct Big { int a[200]; };
__global__ void big_params(__grid_constant__ const Big b, int i, char c, short s, int *out) {
    *out = b.a[i] + c + s;
}
__global__ void empty() {}
