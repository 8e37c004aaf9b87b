__device__ int foo(int x) { return x * 4 + 2; }
