// A kernel launched from device code: needs the device runtime.
__device__ void leaf(int *data, int depth) { data[threadIdx.x] += depth; }

__global__ void tree(int *data, int depth) {
    leaf(data, depth);
    if (depth > 0 && threadIdx.x == 0) {
        tree<<<1, 32, 64>>>(data, depth - 1);
        tree<<<2, 16, 0, cudaStreamFireAndForget>>>(data, depth - 2);
    }
}

__global__ void clear(int *data, int count) {
    cudaMemsetAsync(data, 0, count * sizeof(int));
}

void launch(int *data) {
    tree<<<1, 32>>>(data, 3);
    clear<<<1, 1>>>(data, 7);
}
