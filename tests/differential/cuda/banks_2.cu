// Constants, static and of other files, and a jump table.
__constant__ int tab2[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__constant__ double pi2 = 3.14;
static __constant__ int loc[4] = {7, 7, 7, 7};
extern __constant__ int tab1[16];
__device__ __noinline__ int use2(int i) { return tab2[i] + loc[i & 3] + tab1[i + 1]; }
__global__ void ck2(int *o) {
    o[0] = use2(o[1]) + pi2;
    switch (o[2]) {
    case 0:
        o[3] = 17;
        break;
    case 1:
        o[3] = use2(3);
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
void go2(int *o) {
    ck2<<<1, 1>>>(o);
    cudaMemcpyToSymbol(tab2, o, 4);
}
