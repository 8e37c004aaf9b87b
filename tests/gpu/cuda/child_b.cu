// Second file of `child`.
__global__ void tree(int *out, int at, int depth);

__global__ void leaf(int *out, int at, int value) {
    out[32 * at + threadIdx.x] += value + threadIdx.x;
}

__device__ void launch_more(int *out, int at, int depth) { tree<<<1, 1>>>(out, at, depth); }
