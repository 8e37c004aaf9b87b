// Block-wide primitives of cub used by kernels of two files.
#define PROGRAM_MAIN
#include "check.h"
#include <algorithm>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
const char *program = "cub";

__device__ int scan_in_block(int value);

__global__ void sort_blocks(const int *in, int *out, int *sums) {
    using Sort = cub::BlockRadixSort<int, 128, 2>;
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Reduce::TempStorage reduce;
    } storage;
    int base = blockIdx.x * 256 + threadIdx.x * 2;
    int items[2] = {in[base], in[base + 1]};
    Sort(storage.sort).Sort(items);
    __syncthreads();
    int sum = Reduce(storage.reduce).Sum(items[0] + items[1]);
    out[base] = items[0];
    out[base + 1] = items[1];
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void scan(int *out) { out[threadIdx.x] = scan_in_block(threadIdx.x + 1); }

void check() {
    const int blocks = 8, n = blocks * 256;
    std::vector<int> values(n);
    unsigned state = 99;
    for (int &value : values) value = int((state = state * 1664525u + 1013904223u) >> 16) - 20000;
    Buffer<int> in(values), out(n), sums(blocks), scanned(128);
    sort_blocks<<<blocks, 128>>>(in, out, sums);
    RAN();
    scan<<<1, 128>>>(scanned);
    RAN();
    auto got = out.get(), got_sums = sums.get(), got_scan = scanned.get();
    for (int b = 0; b < blocks; b++) {
        std::sort(values.begin() + 256 * b, values.begin() + 256 * (b + 1));
        int want = 0;
        for (int i = 256 * b; i < 256 * (b + 1); i++) {
            want += values[i];
            EXPECT_AT("sorted", i, got[i], values[i]);
        }
        EXPECT_AT("sums", b, got_sums[b], want);
    }
    for (int i = 0; i < 128; i++) EXPECT_AT("scan", i, got_scan[i], (i + 1) * (i + 2) / 2);
}
