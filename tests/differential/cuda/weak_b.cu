// Uses what the other file declares weak, and defines its C function.
__device__ int hook(int x);
__device__ int hook2(int x);
extern __device__ int wvar;
extern "C" __device__ __noinline__ int c_fn(int x) { return x << 2; }
__global__ void more(int *o) { o[0] = hook2(o[1]) + hook(o[2]) + wvar; }
void go2(int *o) { more<<<1, 1>>>(o); }
