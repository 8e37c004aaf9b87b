// A member of the library of `archive`, needed by the program.
__device__ unsigned round_of(unsigned x);
__device__ unsigned hash(unsigned x) { return round_of(round_of(x + 1)); }
