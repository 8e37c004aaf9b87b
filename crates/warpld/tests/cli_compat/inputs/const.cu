__constant__ int many[12000];
__global__ void kco(int *p) { *p = many[*p]; }
