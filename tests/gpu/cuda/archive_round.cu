// A member of the library of `archive`, needed by another member.
__device__ unsigned rounds_done = 0;
__device__ unsigned round_of(unsigned x) {
    atomicAdd(&rounds_done, 1u);
    x ^= x >> 16;
    x *= 0x7feb352du;
    return x ^ x >> 15;
}
