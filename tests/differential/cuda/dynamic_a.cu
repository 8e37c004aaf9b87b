// Dynamic shared arrays beside static ones, and under templates.
template <class T> struct Shared {
    __device__ static T *get() {
        extern __shared__ int raw[];
        return (T *)raw;
    }
};
extern __shared__ double arr[];
__device__ double sumAll(int n);
__device__ int blockId(int);
template <class T> __global__ void tk(T *o) {
    T *s = Shared<T>::get();
    s[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void plain(double *o, int n) {
    __shared__ float f[7];
    __shared__ alignas(128) char c[3];
    f[n] = o[1];
    c[n & 1] = 3;
    arr[threadIdx.x] = o[threadIdx.x] + f[n ^ 1] + c[0];
    __syncthreads();
    o[0] = sumAll(n) + blockId(n);
}
__global__ void nothing(int *o) { o[0] = blockId(3); }
void go(double *o) {
    tk<double><<<1, 1, 100>>>(o);
    tk<int><<<1, 1, 100>>>((int *)o);
    plain<<<1, 1, 400>>>(o, 3);
    nothing<<<1, 1>>>((int *)o);
}
