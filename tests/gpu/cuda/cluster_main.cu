// Thread block clusters that read each other's shared memory.
#define PROGRAM_MAIN
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
const char *program = "cluster";

__device__ int *peer_of(int *box);

__global__ void __cluster_dims__(4, 1, 1) exchange(int *out) {
    __shared__ int box[64];
    cg::cluster_group cluster = cg::this_cluster();
    box[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
    cluster.sync();
    out[blockIdx.x * 64 + threadIdx.x] = peer_of(box)[63 - threadIdx.x];
    cluster.sync();
}

void check() {
    const int blocks = 16;
    Buffer<int> out(blocks * 64);
    exchange<<<blocks, 64>>>(out);
    RAN();
    auto got = out.get();
    for (int i = 0; i < blocks * 64; i++) {
        int block = i / 64, peer = block / 4 * 4 + (block + 1) % 4;
        EXPECT_AT("exchange", i, got[i], peer * 1000 + 63 - i % 64);
    }
}
