// Second file of `constants`.
__constant__ double factors[3] = {0.5, 0.25, 8};
static __constant__ char letter = 'y';
__device__ int static_letter() { return letter; }
