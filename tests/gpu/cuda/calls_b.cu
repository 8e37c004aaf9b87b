// Second file of `calls`: functions that call into the third.
__device__ int scale = 3;
__device__ int sign_of(int x);
static __device__ __noinline__ int offset() { return 7; }

__device__ int weigh(int x) { return scale * x + offset() + sign_of(x); }

__global__ void from_other_file(int *out) {
    int i = threadIdx.x;
    out[i] = 10 * i + weigh(i);
}
