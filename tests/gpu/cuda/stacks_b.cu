// Second file of `stacks`.
typedef int (*Visit)(int depth, int seed);
__device__ int frame(int depth, int seed);
__device__ int small(int depth, int seed) { return -depth - seed; }
__device__ Visit visits[2] = {small, frame};

__device__ __noinline__ int frame(int depth, int seed) {
    volatile int room[128];
    for (int i = 0; i < 128; i++) room[i] = 3 * i + seed;
    int deeper = depth > 0 ? frame(depth - 1, seed) : 0;
    return deeper + room[5 * seed % 128];
}
