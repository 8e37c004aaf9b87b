// Managed variables with and without values.
__managed__ int m1 = 4;
__managed__ double m2[100];
static __managed__ char m3;
extern __managed__ int mext;
extern __device__ int dext;
__device__ int *ptr;
__global__ void mk(int *o) {
    o[0] = m1 + (int)m2[o[1]] + m3 + mext + *ptr + dext;
    m2[3] = 2;
}
void go(int *o) {
    m1 = 5;
    mk<<<1, 1>>>(o);
}
