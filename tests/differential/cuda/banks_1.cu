// Constants, static and of other files, and a jump table.
__constant__ int tab1[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__constant__ double pi1 = 3.14;
static __constant__ int loc[4] = {7, 7, 7, 7};
extern __constant__ int tab1[16];
__device__ __noinline__ int use1(int i) { return tab1[i] + loc[i & 3] + tab1[i + 1]; }
__global__ void ck1(int *o) {
    o[0] = use1(o[1]) + pi1;
    switch (o[2]) {
    case 0:
        o[3] = 17;
        break;
    case 1:
        o[3] = use1(3);
        break;
    case 2:
        o[4]++;
        break;
    case 3:
        o[5] = o[6] * 3;
        break;
    case 4:
        o[8] = 9;
        break;
    case 5:
        o[9] = 3;
    }
}
void go1(int *o) {
    ck1<<<1, 1>>>(o);
    cudaMemcpyToSymbol(tab1, o, 4);
}
