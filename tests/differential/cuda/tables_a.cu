// Functions chosen by tables of another file, by constants and by kernel parameters.
typedef float (*Fn)(float, int);
extern __device__ Fn table[4];
extern __constant__ Fn ctable[2];
__device__ __noinline__ float addone(float a, int b) { return a + b; }
__device__ Fn local = addone;
static __device__ float hidden(float a, int b) { return a * b - 3; }
__global__ void viaTable(float *o, int i) {
    o[0] = table[i](o[1], i) + ctable[i & 1](o[2], 7) + local(o[3], 2);
}
__global__ void pick(float *o, int i, Fn given) {
    Fn f = i ? hidden : addone;
    o[0] = f(o[1], 3) + (given ? given(o[2], 4) : 0);
}
__global__ void address(Fn *o) { *o = hidden; }
void go(float *o) {
    viaTable<<<1, 1>>>(o, 1);
    pick<<<1, 1>>>(o, 0, nullptr);
}
