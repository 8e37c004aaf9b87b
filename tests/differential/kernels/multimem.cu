// Memory of several devices at once, vectors of 256 bits, cache hints, special registers and sleep.
typedef unsigned u32;
typedef unsigned long long u64;
__global__ void reduce_all(float *m, u32 *n, float *out, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        float a, b, c, d;
        u32 x, y;
        u64 w;
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(m + i * 4));
        asm volatile("multimem.ld_reduce.relaxed.gpu.global.add.v2.f16x2 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "l"(n + i * 2));
        asm volatile("multimem.ld_reduce.weak.global.max.u64 %0, [%1];" : "=l"(w) : "l"(n + i * 2));
        out[i] = a + b + c * d + x + y + w;
        asm volatile("multimem.st.weak.global.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(m + i * 4), "f"(a), "f"(b), "f"(c), "f"(d));
        asm volatile("multimem.red.release.gpu.global.add.v2.bf16x2 [%0], {%1,%2};" ::"l"(n + i * 2), "r"(x), "r"(y));
        asm volatile("multimem.red.relaxed.sys.global.min.s32 [%0], %1;" ::"l"(n + i), "r"(x));
    }
}
__global__ void vectors(const double *in, double *out, const float *f, float *g, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double a, b, c, d;
        float e[8];
        asm volatile("ld.global.v4.f64 {%0,%1,%2,%3}, [%4];" : "=d"(a), "=d"(b), "=d"(c), "=d"(d) : "l"(in + i * 4));
        asm volatile("ld.global.nc.L2::evict_first.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=f"(e[0]), "=f"(e[1]), "=f"(e[2]), "=f"(e[3]), "=f"(e[4]), "=f"(e[5]), "=f"(e[6]), "=f"(e[7]) : "l"(f + i * 8));
        asm volatile("st.global.v4.f64 [%0], {%1,%2,%3,%4};" ::"l"(out + i * 4), "d"(d), "d"(c), "d"(b), "d"(a));
        asm volatile("st.global.v8.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"l"(g + i * 8), "f"(e[7]), "f"(e[1]), "f"(e[2]), "f"(e[3]), "f"(e[4]), "f"(e[5]), "f"(e[6]), "f"(e[0]));
    }
}
__global__ void hints(const float4 *in, float4 *out, const int *next, int n) {
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    int at = threadIdx.x;
    for (int i = 0; i < n; ++i) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(in + at + 64));
        float4 v = __ldcs(in + at);
        at = __ldg(next + at);
        float w;
        asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(w) : "l"(in + at), "l"(policy));
        v.x += w;
        __stwt(out + i * blockDim.x + threadIdx.x, v);
    }
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(out));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out));
}
__global__ void clocks(u64 *out, u32 *s, int k) {
    u64 start = clock64(), timer;
    u32 sm, lane, mask, warp, cell;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(timer));
    asm volatile("mov.u32 %0, %smid; mov.u32 %1, %laneid; mov.u32 %2, %lanemask_lt; mov.u32 %3, %warpid; mov.u32 %4, %dynamic_smem_size;" : "=r"(sm), "=r"(lane), "=r"(mask), "=r"(warp), "=r"(cell));
    while (clock64() - start < k) __nanosleep(k);
    asm volatile("griddepcontrol.wait;");
    s[lane] = sm + mask + warp + cell + __isGlobal(out) + __isShared(s) + __isConstant(out);
    out[lane] = clock64() - start + timer + clock();
    asm volatile("griddepcontrol.launch_dependents;");
    if (k == 77) __trap();
    if (k == 78) __brkpt();
}
