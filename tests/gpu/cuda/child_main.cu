// Kernels launched by kernels: needs the device runtime library.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "child";

__global__ void leaf(int *out, int at, int value);
__device__ void launch_more(int *out, int at, int depth);

__global__ void tree(int *out, int at, int depth) {
    if (depth == 0) {
        leaf<<<1, 32>>>(out, at, 1);
        return;
    }
    launch_more(out, 2 * at, depth - 1);
    tree<<<1, 1>>>(out, 2 * at + 1, depth - 1);
}

__global__ void tail(int *out) {
    if (threadIdx.x == 0) leaf<<<1, 32, 0, cudaStreamTailLaunch>>>(out, 0, 1000);
    out[threadIdx.x] = 7;
}

void check() {
    const int depth = 5;
    Buffer<int> out(32 << depth);
    tree<<<1, 1>>>(out, 0, depth);
    RAN();
    auto got = out.get();
    for (int i = 0; i < 32 << depth; i++) EXPECT_AT("tree", i, got[i], 1 + i % 32);
    tail<<<1, 32>>>(out);
    RAN();
    got = out.get();
    for (int i = 0; i < 32; i++) EXPECT_AT("tail", i, got[i], 7 + 1000 + i);
}
