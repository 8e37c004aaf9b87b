__device__ unsigned long long calls;

__device__ float finish(float x, int how)
{
    atomicAdd(&calls, 1ull);
    switch (how & 7) {
    case 0: return x;
    case 1: return -x;
    case 2: return x * x;
    case 3: return rsqrtf(x);
    case 4: return logf(x);
    case 5: return x + 100;
    case 6: return __cosf(x);
    }
    __trap();
    return 0;
}
