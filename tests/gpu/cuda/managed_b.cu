// Second file of `managed`.
__managed__ float samples[64] = {1};
extern __managed__ int counter;
__device__ void halve(int i) {
    if (counter != -1000000) samples[i] *= 0.5f;
}
