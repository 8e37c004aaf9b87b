// What saxpy.cu calls, and a constant table of its own.
__constant__ float gain[4] = {0.5f, 1.0f, 2.0f, 4.0f};

__device__ float scale(float x) {
    return x * gain[threadIdx.x & 3];
}
