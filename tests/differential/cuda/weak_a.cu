// Weak functions and variables, C names.
__device__ __attribute__((weak)) int hook(int x) { return x; }
__device__ __attribute__((weak)) int hook2(int x) { return x * x + 1; }
extern "C" __device__ int c_fn(int);
extern "C" __global__ void c_kernel(int *o) { o[0] = hook(o[1]) + hook2(o[2]) + c_fn(o[3]); }
__device__ __attribute__((weak)) int wvar = 7;
extern "C" {
__device__ int c_var[8];
__constant__ int c_const = 5;
}
__global__ void vars(int *o) { o[0] = wvar + c_var[o[1]] + c_const; }
void go(int *o) {
    c_kernel<<<1, 1>>>(o);
    vars<<<1, 1>>>(o);
}
