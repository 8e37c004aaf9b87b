// A static library of device code: two members are needed, one is not.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "archive";

__device__ unsigned hash(unsigned x);
extern __device__ unsigned rounds_done;

__global__ void hash_all(unsigned *out) { out[threadIdx.x] = hash(threadIdx.x); }

unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    return x ^ x >> 15;
}

void check() {
    Buffer<unsigned> out(256);
    hash_all<<<1, 256>>>(out);
    RAN();
    auto got = out.get();
    for (unsigned i = 0; i < 256; i++) EXPECT_AT("hash", i, got[i], mix(mix(i + 1)));
    unsigned done = 0;
    OK(cudaMemcpyFromSymbol(&done, rounds_done, sizeof done));
    EXPECT(done, 512);
}
