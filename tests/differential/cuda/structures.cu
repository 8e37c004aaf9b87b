// Initialised structures with functions, strings and rows of arrays.
struct Op {
    int code;
    float (*fn)(float);
    const char *name;
};
__device__ float a1(float x) { return x + 1; }
__device__ float a2(float x) { return x * 2; }
template <int N> __device__ float an(float x) { return x - N; }
__device__ Op ops[] = {{1, a1, "a1"}, {2, a2, "a2"}, {3, an<3>, "an3"}, {4, an<4>, nullptr}};
__device__ const Op cops[] = {{7, an<9>, "an9"}};
__constant__ const Op *entry = ops;
__device__ int matrix[3][3] = {{1, 2, 3}, {4}, {5, 6}};
__device__ int (*rows[2])[3] = {&matrix[0], &matrix[2]};
__device__ long long huge[1000];
__device__ char initial[5] = "abc";
__global__ void tabk(float *o, int i) {
    const Op &op = i > 3 ? cops[0] : entry[i];
    o[0] = op.fn(o[1]) + (op.name ? op.name[0] : 0) + (*rows[i & 1])[1] + huge[i] + initial[i];
}
void go(float *o) { tabk<<<1, 1>>>(o, 1); }
