extern __device__ int dv[4];
extern __constant__ int gv;
__global__ void ksp(int *p) { *p = gv; }
