__device__ int foo(int x) { return x * 3 + 1; }
