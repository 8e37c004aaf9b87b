__constant__ int cv[25] = {1, 2, 3};
__shared__ int tile[64];
__global__ void kc(int *p) { tile[threadIdx.x] = p[threadIdx.x]; __syncthreads(); *p = tile[3] + cv[p[1]]; }
__global__ void kdead(int *p) { *p = 7; }
void launch(int *p) { kc<<<1, 1>>>(p); }
