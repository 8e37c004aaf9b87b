// Tables of structures, pointers and strings.
__managed__ int mext;
__device__ int dext = 8;
struct S {
    int *p;
    int n;
};
__device__ S entries[3] = {{&dext, 1}, {&dext, 2}, {nullptr, 3}};
__device__ const char *names[] = {"alpha", "beta", "gamma"};
__device__ const char *const cnames[] = {"delta", "alpha"};
__global__ void nk(char *o, int i) {
    o[0] = names[i][2];
    o[1] = cnames[i & 1][1];
    o[2] = *entries[i].p;
}
void go2(char *o) { nk<<<1, 1>>>(o, 1); }
