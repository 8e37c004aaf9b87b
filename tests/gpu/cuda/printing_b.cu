// Second file of `printing`: two functions that call each other, and one itself.
#include <cstdio>
__device__ int down(int depth, const char *tag);

__device__ __noinline__ int step(int depth, const char *tag) {
    printf("%s%d\n", tag, depth);
    return depth + down(depth - 1, tag);
}

__device__ __noinline__ int down(int depth, const char *tag) {
    if (depth > 0) return step(depth, tag);
    printf("bottom %s\n", tag);
    return 0;
}

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
