// Loops that wait over their back edge: for what the last round loaded ahead, and for operands of what it stored.

template <class T, int Many>
__device__ void ahead(const T *in, T *out, int count) {
    T now[Many], sum = 0;
    for (int k = 0; k < Many; ++k) now[k] = in[threadIdx.x + 32 * k];
#pragma unroll 1
    for (int i = Many; i < count; i += Many) {
        T next[Many];
        for (int k = 0; k < Many; ++k) next[k] = in[threadIdx.x + 32 * (i + k)];
        for (int k = 0; k < Many; ++k) sum = sum * now[k] + T(k), now[k] = next[k];
    }
    out[threadIdx.x] = sum;
}

template <class T, int Many>
__device__ void behind(const T *in, T *out, int count) {
    T value[Many];
    for (int k = 0; k < Many; ++k) value[k] = in[threadIdx.x + k];
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < Many; ++k) out[(i * Many + k) * 32 + threadIdx.x] = value[k];
        for (int k = 0; k < Many; ++k) value[k] = value[k] * T(3) + T(i);
    }
}

template <class T, int Many>
__device__ void around(const T *in, T *out, int count) {
    __shared__ T ring[Many + 1][32];
    T value = in[threadIdx.x], sum = 0;
    for (int k = 0; k <= Many; ++k) ring[k][threadIdx.x] = value;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        __syncwarp();
        for (int k = 0; k < Many; ++k) {
            T other = ring[k][(threadIdx.x + i) & 31];
            ring[k + 1][threadIdx.x] = value;
            sum += other;
        }
        value = in[32 * i + threadIdx.x] + sum;
    }
    out[threadIdx.x] = sum;
}

template <class T, int Many>
__device__ void across(const T *in, T *out, int count) {
    T value[Many];
    for (int k = 0; k < Many; ++k) value[k] = in[32 * k + threadIdx.x];
#pragma unroll 1
    for (int i = 1; i < count; ++i) {
        for (int k = 0; k < Many; ++k) atomicAdd((int *)out + k, (int)value[k]);
        for (int k = 0; k < Many; ++k) value[k] = in[int(value[k]) & 1023] + T(__shfl_xor_sync(~0u, int(value[(k + 1) % Many]), i & 31));
    }
    for (int k = 0; k < Many; ++k) out[32 * k + threadIdx.x] = value[k];
}

#define ROUND(shape, name, type, many) \
    extern "C" __global__ void shape##_##name##_##many(const type *in, type *out, int count) { shape<type, many>(in, out, count); }
#define ROUNDS(name, type, many) \
    ROUND(ahead, name, type, many) ROUND(behind, name, type, many) ROUND(around, name, type, many) ROUND(across, name, type, many)
#define TYPES(many) ROUNDS(int, int, many) ROUNDS(float, float, many) ROUNDS(double, double, many) ROUNDS(short, short, many) ROUNDS(wide, long long, many)

TYPES(1)
TYPES(2)
TYPES(3)
TYPES(4)
TYPES(5)
TYPES(6)
TYPES(7)
TYPES(8)
TYPES(9)
TYPES(10)
TYPES(11)
TYPES(12)
TYPES(13)
TYPES(16)
