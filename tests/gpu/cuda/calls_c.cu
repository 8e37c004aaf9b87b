// Third file of `calls`: leaves, and a static function named like one in the second.
static __device__ __noinline__ int offset() { return -1; }

__device__ int sign_of(int x) { return x % 2 ? x : x * offset(); }

__device__ float mean(const float *values, int count) {
    float sum = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    return sum / count;
}
