// Managed variables in two files, read and written by both processors.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "managed";

__managed__ int counter = 5;
extern __managed__ float samples[64];
__device__ void halve(int i);

__global__ void change() {
    atomicAdd(&counter, 2);
    halve(threadIdx.x);
}

void check() {
    for (int i = 0; i < 64; i++) samples[i] = i;
    EXPECT(counter, 5);
    change<<<1, 64>>>();
    RAN();
    EXPECT(counter, 5 + 128);
    for (int i = 0; i < 64; i++) EXPECT_AT("samples", i, samples[i], i / 2.0);
    counter = -128;
    change<<<1, 64>>>();
    RAN();
    EXPECT(counter, 0);
    EXPECT(samples[60], 15);
}
