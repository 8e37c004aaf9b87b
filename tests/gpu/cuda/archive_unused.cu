// A member of the library of `archive` nobody needs.
__device__ unsigned unused_state = 7;
__device__ unsigned unused(unsigned x) { return x + unused_state; }
