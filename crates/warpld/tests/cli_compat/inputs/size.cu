__device__ int gv[2] = {1, 2};
