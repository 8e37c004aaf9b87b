// Kernels, functions and variables the host never names are left out; those
// only reached from what stays are kept.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "pruned";

__device__ int dead_variable[1000] = {1};
__device__ int live_variable = 40;
__device__ int kept_by_pointer(int x);
__device__ int dead_function(int x);
typedef int (*Function)(int);
__device__ Function indirect = kept_by_pointer;

__global__ void dead_kernel(int *out) { *out = dead_function(dead_variable[*out]); }
static __global__ void dead_static_kernel(int *out) { *out = 1; }
__global__ void live_kernel(int *out) { *out = indirect(live_variable); }

void check() {
    Buffer<int> out(1);
    live_kernel<<<1, 1>>>(out);
    RAN();
    EXPECT(out.get()[0], 40 + 2);
    int next = 98;
    OK(cudaMemcpyToSymbol(live_variable, &next, sizeof next));
    live_kernel<<<1, 1>>>(out);
    RAN();
    EXPECT(out.get()[0], 100);
}
