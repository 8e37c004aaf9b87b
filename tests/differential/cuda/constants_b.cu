__constant__ float other[4] = {1, 2, 3, 4};

__global__ void weightedToo(float *out) { out[threadIdx.x] += other[threadIdx.x & 3]; }

void launchToo(float *out) {
    cudaMemcpyToSymbol(other, out, 4);
    weightedToo<<<1, 32>>>(out);
}
