// Second file of `registers`: more live values than registers.
__device__ __noinline__ int busy(const int *in, int at) {
    int values[48], sum = 0;
#pragma unroll
    for (int i = 0; i < 48; i++) values[i] = ((const volatile int *)in)[at + i];
#pragma unroll
    for (int i = 0; i < 48; i++) sum += values[i] * values[47 - i] * (i + 1);
    return sum;
}
