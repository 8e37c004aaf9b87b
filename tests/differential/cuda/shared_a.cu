// Static and dynamic shared memory in kernels and functions of two files.
extern __shared__ int pool[];
__device__ int sumPool(int count);
__device__ float scratchSum(float x);

__global__ void fill(int *out, int count) {
    __shared__ double staging[40];
    staging[threadIdx.x] = out[threadIdx.x];
    pool[threadIdx.x] = int(staging[threadIdx.x ^ 1]);
    __syncthreads();
    out[0] = sumPool(count);
}

__global__ void scratch(float *out) { out[threadIdx.x] = scratchSum(out[threadIdx.x]); }

__global__ void both(float *out, int count) { out[0] = scratchSum(out[1]) + sumPool(count); }

void launch(int *i, float *f) {
    fill<<<1, 40, 400>>>(i, 40);
    scratch<<<1, 64>>>(f);
    both<<<1, 64, 128>>>(f, 2);
}
