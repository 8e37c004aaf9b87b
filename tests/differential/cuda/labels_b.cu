// Functions for a table of constants.
typedef int (*Choice)(int, int);

static __device__ int larger(int a, int b) { return a > b ? a : b; }
__device__ int bits(int a, int b) { return __popc(a) + __clz(b); }
template <int K> __device__ int times(int a, int b) { return a * K + b; }
__constant__ Choice table[4] = {larger, bits, times<3>, times<5>};

__global__ void check(int *x)
{
    x[0] = table[x[1] & 3] == table[x[2] & 3];
}
