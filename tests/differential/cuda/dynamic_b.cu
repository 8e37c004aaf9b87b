// Functions that use shared memory; one that nobody calls.
extern __shared__ double arr[];
__device__ __noinline__ double sumAll(int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s += arr[i];
    return s;
}
__device__ __noinline__ int blockId(int x) {
    __shared__ int ids[33];
    __shared__ long long wide[3];
    ids[x] = x;
    wide[x % 3] = x;
    __syncthreads();
    return ids[x ^ 1] + wide[1];
}
__device__ int unusedFn(int x) {
    __shared__ int z[77];
    z[x] = 1;
    __syncthreads();
    return z[x + 1] + arr[3];
}
