// Large stack frames, reached directly, through a pointer and by recursion.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "stacks";

typedef int (*Visit)(int depth, int seed);
extern __device__ Visit visits[2];
__device__ int frame(int depth, int seed);

__global__ void direct(int *out) { out[threadIdx.x] = frame(0, threadIdx.x); }
__global__ void pointed(int *out) { out[threadIdx.x] = visits[threadIdx.x % 2](3, threadIdx.x); }

void check() {
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10));
    Buffer<int> out(64);
    direct<<<1, 64>>>(out);
    RAN();
    auto got = out.get();
    for (int i = 0; i < 64; i++) EXPECT_AT("direct", i, got[i], (5 * i) % 128 * 3 + i);
    pointed<<<1, 64>>>(out);
    RAN();
    got = out.get();
    for (int i = 0; i < 64; i++) {
        int want = 0;
        for (int depth = 0; depth <= 3; depth++) want += (5 * i) % 128 * 3 + i;
        EXPECT_AT("pointed", i, got[i], i % 2 ? want : -3 - i);
    }
}
