__device__ int dv[4];
__device__ int bar(int x) { return dv[x & 3]++; }
__device__ int unused(int x) { return bar(x) * 2; }
