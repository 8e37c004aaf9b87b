// Algorithms of the whole device from CUB and Thrust, with types and operators of our own.
#include <cub/cub.cuh>
#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/partition.h>
#include <thrust/set_operations.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
struct Pair { float value; int place; };
struct Best { __host__ __device__ Pair operator()(Pair a, Pair b) const { return a.value < b.value ? b : a; } };
struct Odd { __host__ __device__ bool operator()(int v) const { return v & 1; } };
struct Square { __host__ __device__ double operator()(double v) const { return v * v; } };
void scan_and_select(void *t, size_t &n, int *in, int *out, int count, int *found, Pair *p, Pair *best) {
    cub::DeviceScan::InclusiveSum(t, n, in, out, count);
    cub::DeviceSelect::If(t, n, in, out, found, count, Odd());
    cub::DeviceReduce::Reduce(t, n, p, best, count, Best(), Pair{-1e30f, -1});
    cub::DeviceRunLengthEncode::Encode(t, n, in, out, out + count, found, count);
}
void sums(double *a, long long *keys, int n, double *out) {
    thrust::device_ptr<double> d(a);
    thrust::device_ptr<long long> k(keys);
    *out = thrust::transform_reduce(d, d + n, Square(), 0.0, thrust::plus<double>());
    thrust::unique(k, k + n);
    thrust::stable_partition(thrust::device_pointer_cast((int *)keys), thrust::device_pointer_cast((int *)keys) + n, Odd());
    thrust::lower_bound(k, k + n, k + n, k + 2 * n, thrust::device_pointer_cast((int *)a));
    thrust::set_intersection(k, k + n, k + n, k + 2 * n, k + 3 * n);
}
