// Managed variables, defined here, used there.
__managed__ int counter = 5;
__managed__ double table[20];
extern __device__ int plain[];

__global__ void count(int *out) { out[0] = atomicAdd(&counter, plain[3]) + int(table[2]); }

int launch(int *out) {
    count<<<1, 1>>>(out);
    table[1] = 4;
    return counter;
}
