// Algorithms of a block and of a warp from CUB.
#include <cub/cub.cuh>
struct Larger { __device__ float operator()(float a, float b) const { return a < b ? b : a; } };
struct Differs { __device__ bool operator()(int a, int b) const { return a != b; } };
template <class V, int N> __device__ void sorted(V *keys, int *values) {
    typedef cub::BlockLoad<V, 128, N, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockRadixSort<V, 128, N, int> Sort;
    __shared__ union { typename Load::TempStorage load; typename Sort::TempStorage sort; } s;
    V k[N];
    int v[N];
    Load(s.load).Load(keys + blockIdx.x * 128 * N, k);
    for (int i = 0; i < N; ++i) v[i] = threadIdx.x * N + i;
    __syncthreads();
    Sort(s.sort).SortBlockedToStriped(k, v);
    cub::StoreDirectStriped<128>(threadIdx.x, keys + blockIdx.x * 128 * N, k);
    cub::StoreDirectStriped<128>(threadIdx.x, values + blockIdx.x * 128 * N, v);
}
__global__ void sort_floats(float *keys, int *values) { sorted<float, 7>(keys, values); }
__global__ void sort_longs(long long *keys, int *values) { sorted<long long, 3>(keys, values); }
struct Longer { __device__ bool operator()(double a, double b) const { return a > b; } };
__global__ void merged(double *keys) {
    typedef cub::BlockMergeSort<double, 64, 5> Sort;
    __shared__ typename Sort::TempStorage s;
    double k[5];
    for (int i = 0; i < 5; ++i) k[i] = keys[threadIdx.x * 5 + i];
    Sort(s).Sort(k, Longer());
    for (int i = 0; i < 5; ++i) keys[threadIdx.x * 5 + i] = k[i];
}
__global__ void scanned(const int *in, int *out, int tiles) {
    typedef cub::BlockScan<int, 256, cub::BLOCK_SCAN_WARP_SCANS> Scan;
    __shared__ typename Scan::TempStorage s;
    int before = 0;
    for (int t = 0; t < tiles; ++t) {
        int v[4], total;
        cub::LoadDirectBlockedVectorized(threadIdx.x, const_cast<int *>(in) + t * 1024, v);
        Scan(s).ExclusiveSum(v, v, total);
        for (int &x : v) x += before;
        before += total;
        cub::StoreDirectBlockedVectorized(threadIdx.x, out + t * 1024, v);
        __syncthreads();
    }
}
__global__ void reduced(const double *in, double *out, int n) {
    typedef cub::BlockReduce<double, 192, cub::BLOCK_REDUCE_RAKING> Reduce;
    __shared__ typename Reduce::TempStorage s;
    double v = 0;
    for (int i = threadIdx.x; i < n; i += 192) v += in[i];
    v = Reduce(s).Sum(v);
    if (threadIdx.x == 0) *out = v;
}
__global__ void by_warp(const float *in, float *out) {
    typedef cub::WarpScan<float> Scan;
    typedef cub::WarpReduce<float, 16> Reduce;
    __shared__ union { typename Scan::TempStorage scan[4]; typename Reduce::TempStorage reduce[8]; } s;
    float v = in[threadIdx.x], inclusive, exclusive;
    Scan(s.scan[threadIdx.x / 32]).Scan(v, inclusive, exclusive, Larger());
    __syncthreads();
    float most = Reduce(s.reduce[threadIdx.x / 16]).HeadSegmentedSum(v, threadIdx.x % 3 == 0);
    out[threadIdx.x] = inclusive + exclusive * most;
}
__global__ void counted(const unsigned char *in, int *out) {
    typedef cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_SORT> Histogram;
    __shared__ typename Histogram::TempStorage s;
    __shared__ int bins[256];
    unsigned char v[4];
    for (int i = 0; i < 4; ++i) v[i] = in[threadIdx.x * 4 + i];
    Histogram(s).Histogram(v, bins);
    __syncthreads();
    out[threadIdx.x] = bins[threadIdx.x] + bins[threadIdx.x + 128];
}
__global__ void exchanged(const int4 *in, int *out) {
    typedef cub::BlockExchange<int, 128, 4> Exchange;
    typedef cub::BlockDiscontinuity<int, 128> Heads;
    __shared__ union { typename Exchange::TempStorage exchange; typename Heads::TempStorage heads; } s;
    int v[4], head[4];
    *(int4 *)v = in[threadIdx.x];
    Exchange(s.exchange).BlockedToWarpStriped(v, v);
    __syncthreads();
    Heads(s.heads).FlagHeads(head, v, Differs());
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = head[i] * v[i];
}
