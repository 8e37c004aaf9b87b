// A limit on registers (-maxrregcount) and launch bounds: spills, and calls
// from kernels with few registers.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "registers";

__device__ int busy(const int *in, int at);

__global__ void plain(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = busy(in, i);
}

__global__ void __launch_bounds__(1024, 1) bounded(const int *in, int *out) {
    out[threadIdx.x] = busy(in, threadIdx.x) + 1;
}

int busy_on_host(const std::vector<int> &in, int at) {
    int sum = 0;
    for (int i = 0; i < 48; i++) sum += in[at + i] * in[at + 47 - i] * (i + 1);
    return sum;
}

void check() {
    const int n = 1024;
    std::vector<int> values(n + 48);
    for (int i = 0; i < n + 48; i++) values[i] = i % 17 - 5;
    Buffer<int> in(values), out(n);
    plain<<<n / 128, 128>>>(in, out);
    RAN();
    auto got = out.get();
    for (int i = 0; i < n; i++) EXPECT_AT("plain", i, got[i], busy_on_host(values, i));
    bounded<<<1, n>>>(in, out);
    RAN();
    got = out.get();
    for (int i = 0; i < n; i++) EXPECT_AT("bounded", i, got[i], busy_on_host(values, i) + 1);
    cudaFuncAttributes attributes{};
    OK(cudaFuncGetAttributes(&attributes, plain));
    EXPECT(attributes.numRegs <= 32, true);
}
