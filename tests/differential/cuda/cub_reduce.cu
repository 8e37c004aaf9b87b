#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>

__global__ void blocks(const int *in, int *out) {
    using Reduce = cub::BlockReduce<int, 128>;
    using Scan = cub::BlockScan<int, 128>;
    __shared__ union {
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
    } storage;
    int value = in[threadIdx.x], prefix;
    Scan(storage.scan).ExclusiveSum(value, prefix);
    __syncthreads();
    out[threadIdx.x] = Reduce(storage.reduce).Sum(value) + prefix;
}

size_t bytes(const int *in, int *out) {
    size_t size = 0;
    cub::DeviceReduce::Sum(nullptr, size, in, out, 1 << 20);
    blocks<<<1, 128>>>(in, out);
    return size;
}
