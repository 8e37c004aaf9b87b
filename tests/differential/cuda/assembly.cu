// Inline assembly: barriers by number, special registers.
__device__ __noinline__ unsigned lane() {
    unsigned r;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(r));
    return r;
}
__global__ void ak(unsigned *o) {
    unsigned long long g;
    asm("mov.u64 %0, %%globaltimer;" : "=l"(g));
    o[0] = lane() + clock() + g;
    asm volatile("bar.sync 3, 64;");
    o[1] = __ballot_sync(~0u, o[2]) + __match_any_sync(~0u, o[3]);
    asm volatile("bar.sync 7;");
    __nanosleep(10);
}
__device__ __noinline__ void many(unsigned *o) {
    asm volatile("barrier.sync 11;");
    o[3] = blockIdx.z;
}
__global__ void ak2(unsigned *o) {
    many(o);
    o[blockIdx.y] = threadIdx.z;
    __threadfence_system();
}
void go(unsigned *o) {
    ak<<<1, 64>>>(o);
    ak2<<<1, 64>>>(o);
}
