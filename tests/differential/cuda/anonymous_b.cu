// Like anonymous_a.cu.
namespace {
__device__ int counter = 3;
__constant__ int k = 4;
__shared__ int smem;
__device__ int bump(int x) { return atomicAdd(&counter, x) + k; }
__global__ void hiddenKernel(int *o) {
    smem = o[1];
    __syncthreads();
    o[0] = bump(o[2]) + smem;
}
} // namespace
static __device__ int s = 9;
static __global__ void staticKernel(int *o) { o[0] = s++; }
inline __device__ int inl(int x) { return x * 3 + s; }
template <int N> __device__ __noinline__ int tmpl(int x) {
    static __device__ int hits;
    hits += N;
    return hits + x;
}
__global__ void userB(int *o) { o[0] = tmpl<2>(o[1]) + tmpl<7>(o[2]) + inl(o[3]); }
void goB(int *o) {
    hiddenKernel<<<1, 1>>>(o);
    staticKernel<<<1, 1>>>(o);
    userB<<<1, 1>>>(o);
}
