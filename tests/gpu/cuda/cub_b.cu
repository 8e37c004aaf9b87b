// Second file of `cub`: a device function with cub's shared memory in it.
#include <cub/block/block_scan.cuh>
__device__ int scan_in_block(int value) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage storage;
    int sum;
    Scan(storage).InclusiveSum(value, sum);
    return sum;
}
