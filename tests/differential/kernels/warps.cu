// Warps with roles of their own, registers moved between them (setmaxnreg), named barriers.
typedef unsigned u32;
__device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__global__ void __launch_bounds__(256) roles(const float *in, float *out, int tiles) {
    __shared__ float s[2][128];
    int t = threadIdx.x % 128;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int i = 0; i < tiles; ++i) {
            asm volatile("barrier.sync %0, 256;" ::"r"(1 + (i & 1)) : "memory");
            s[i & 1][t] = in[(blockIdx.x * tiles + i) * 128 + t];
            asm volatile("barrier.arrive %0, 256;" ::"r"(3 + (i & 1)) : "memory");
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
        float sum = 0, most = -1;
        asm volatile("barrier.arrive 1, 256;" ::: "memory");
        asm volatile("barrier.arrive 2, 256;" ::: "memory");
        for (int i = 0; i < tiles; ++i) {
            asm volatile("barrier.sync %0, 256;" ::"r"(3 + (i & 1)) : "memory");
            float v = s[i & 1][t];
            sum += v;
            most = fmaxf(most, s[i & 1][t ^ 5]);
            if (i + 2 < tiles) asm volatile("barrier.arrive %0, 256;" ::"r"(1 + (i & 1)) : "memory");
        }
        out[blockIdx.x * 128 + t] = sum * most;
    }
}
__global__ void voted(const int *in, int *out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int v = in[i], any, all;
        asm volatile("{.reg .pred p, q; setp.gt.s32 p, %2, 3; barrier.red.or.pred q, 1, p; selp.s32 %0, 1, 0, q; barrier.red.and.pred q, 2, !p; selp.s32 %1, 1, 0, q;}" : "=r"(any), "=r"(all) : "r"(v));
        out[i] = v + any * 2 + all * 4;
    }
}
