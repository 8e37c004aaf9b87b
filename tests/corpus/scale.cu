// Defines what vec.cu calls.
__constant__ float factors[4] = {1.0f, 2.0f, 4.0f, 8.0f};
__device__ int calls;

__device__ float scale(float x, float a) {
    atomicAdd(&calls, 1);
    return x * a * factors[threadIdx.x & 3];
}
__global__ void use_scale(float *y) { *y = scale(*y, 2.0f); }
