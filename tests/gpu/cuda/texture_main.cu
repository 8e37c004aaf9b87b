// Texture and surface objects passed to functions of another file.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "texture";

__device__ float sample(cudaTextureObject_t texture, float x, float y);
__device__ void store(cudaSurfaceObject_t surface, int x, int y, float value);

__global__ void copy(cudaTextureObject_t from, cudaSurfaceObject_t to, float *linear) {
    int x = threadIdx.x, y = threadIdx.y;
    store(to, x, y, 2 * sample(from, x + 0.5f, y + 0.5f));
    linear[y * 16 + x] = sample(from, x + 1.0f, y + 0.5f);
}

void check() {
    const int n = 16;
    std::vector<float> values(n * n);
    for (int i = 0; i < n * n; i++) values[i] = i;
    auto format = cudaCreateChannelDesc<float>();
    cudaArray_t from, to;
    OK(cudaMallocArray(&from, &format, n, n));
    OK(cudaMallocArray(&to, &format, n, n, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(from, 0, 0, values.data(), n * 4, n * 4, n, cudaMemcpyHostToDevice));
    cudaResourceDesc source{}, target{};
    source.resType = target.resType = cudaResourceTypeArray;
    source.res.array.array = from;
    target.res.array.array = to;
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    OK(cudaCreateTextureObject(&texture, &source, &how, nullptr));
    OK(cudaCreateSurfaceObject(&surface, &target));
    Buffer<float> linear(n * n);
    copy<<<1, dim3(n, n)>>>(texture, surface, linear);
    RAN();
    std::vector<float> back(n * n);
    OK(cudaMemcpy2DFromArray(back.data(), n * 4, to, 0, 0, n * 4, n, cudaMemcpyDeviceToHost));
    auto between = linear.get();
    for (int i = 0; i < n * n; i++) {
        EXPECT_AT("surface", i, back[i], 2 * i);
        EXPECT_AT("filtered", i, between[i], i % n == n - 1 ? i : i + 0.5);
    }
}
