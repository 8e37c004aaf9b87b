extern __managed__ int counter;
__device__ int plain[7] = {1, 2, 3};
__device__ int *where = &plain[2];

__global__ void reset() { counter = *where; }
__global__ void never() { counter = 2; }

void launchReset() { reset<<<1, 1>>>(); }
