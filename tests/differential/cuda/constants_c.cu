__device__ int target;
__constant__ int *indirect = &target;
static __constant__ float same[4] = {1, 2, 3, 4};

__global__ void unlaunched(float *out) { out[0] = same[threadIdx.x & 3]; }

int peek() {
    int *p;
    cudaMemcpyFromSymbol(&p, indirect, 8);
    return p != nullptr;
}
