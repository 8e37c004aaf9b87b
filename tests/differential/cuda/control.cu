// Jump tables, recursion, local arrays and slow paths of arithmetic.
__device__ __noinline__ int choose(int kind, int x) {
    switch (kind) {
    case 0: return x * 17;
    case 1: return x / 3;
    case 2: return __popc(x);
    case 3: return x ^ 0x55;
    case 4: return __clz(x) + 4;
    case 5: return x << (x & 3);
    case 6: return atomicAdd((int *)nullptr + x, 1);
    default: return -x;
    }
}

__device__ __noinline__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }

__global__ void run(int *data, double *real) {
    int stack[32];
    for (int i = 0; i < 32; i++) stack[i] = choose(data[i] & 7, i);
    data[0] = stack[data[1] & 31] + even(data[2]);
    real[0] = sin(real[1]) / sqrt(real[2]) + fmod(real[3], 1.5);
}

__global__ void __launch_bounds__(128, 4) bounded(int *data) { data[0] = choose(data[1], data[2]); }

void launch(int *d, double *r) {
    run<<<1, 1>>>(d, r);
    bounded<<<1, 128>>>(d);
}
