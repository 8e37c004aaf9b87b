// Calls and variables across three files.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "calls";

extern __device__ int scale;
__device__ int weigh(int x);
__device__ float mean(const float *values, int count);
__global__ void from_other_file(int *out);

__global__ void both(int *out, float *means, const float *values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = weigh(i) + scale;
    means[i] = mean(values, i + 1);
}

void check() {
    const int n = 256;
    std::vector<float> values(n);
    for (int i = 0; i < n; i++) values[i] = float(i);
    Buffer<int> out(n), other(n);
    Buffer<float> means(n), input(values);
    both<<<4, 64>>>(out, means, input);
    RAN();
    from_other_file<<<1, n>>>(other);
    RAN();
    auto got = out.get(), got_other = other.get();
    auto got_means = means.get();
    for (int i = 0; i < n; i++) {
        EXPECT_AT("both", i, got[i], 3 * i + 7 + (i % 2 ? i : -i) + 3);
        EXPECT_AT("mean", i, got_means[i], i / 2.0);
        EXPECT_AT("from_other_file", i, got_other[i], 10 * i + 3 * i + 7 + (i % 2 ? i : -i));
    }
    int next = 5;
    OK(cudaMemcpyToSymbol(scale, &next, sizeof next));
    both<<<1, n>>>(out, means, input);
    RAN();
    got = out.get();
    for (int i = 0; i < n; i++)
        EXPECT_AT("both after a new scale", i, got[i], 5 * i + 7 + (i % 2 ? i : -i) + 5);
}
