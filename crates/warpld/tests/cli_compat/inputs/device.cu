extern "C" __device__ void both(int *p) { *p = 1; }
__global__ void kboth(int *p) { both(p); }
