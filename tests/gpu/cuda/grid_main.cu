// A cooperative launch: blocks that wait for each other.
#define PROGRAM_MAIN
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
const char *program = "grid";

__device__ int neighbour(const int *data, int at, int count);

__global__ void rotate(int *from, int *to, int rounds, int count) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int round = 0; round < rounds; round++) {
        if (i < count) to[i] = neighbour(from, i, count) + 1;
        grid.sync();
        int *swap = from;
        from = to;
        to = swap;
    }
}

void check() {
    const int blocks = 64, threads = 128, count = blocks * threads, rounds = 10;
    std::vector<int> start(count);
    for (int i = 0; i < count; i++) start[i] = 100 * i;
    Buffer<int> a(start), b(count);
    int *from = a, *to = b, r = rounds, n = count;
    void *args[] = {&from, &to, &r, &n};
    OK(cudaLaunchCooperativeKernel((void *)rotate, dim3(blocks), dim3(threads), args));
    RAN();
    auto got = a.get();
    for (int i = 0; i < count; i++)
        EXPECT_AT("rotate", i, got[i], 100 * ((i + rounds) % count) + rounds);
}
