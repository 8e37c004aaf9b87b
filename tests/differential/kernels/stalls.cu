// Stall counts that change with the scoreboards: what is waited for one cycle later takes two, and one again where the
// wait goes to another scoreboard; the instructions behind move, and others yield.
typedef unsigned u32;

extern "C" __global__ void traps(int *) { __trap(); }

struct Divisor {
    int d;
    u32 m, s;
};

extern "C" __global__ void quotients(const float *in, float *out, const int n, const int channels, const int area, const int unused,
                                     Divisor by, Divisor by_area) {
    const int batch = (n / channels) / area;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int t = by.d == 1 ? (int)i : (int)((__umulhi((u32)i, by.m) + (u32)i) >> by.s), c = (int)i - t * by.d;
        int b = by_area.d == 1 ? t : (int)((__umulhi((u32)t, by_area.m) + (u32)t) >> by_area.s), a = t - b * by_area.d;
        out[i] = in[(((c >> 2) * batch + b) * area + a) * 4 + (c & 3)];
    }
}

template <class T, class U>
__device__ void transpose(const T *in, U *out, const int n, const int channels, const int area, Divisor by, Divisor by_area) {
    const int batch = (n / channels) / area;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int t = by.d == 1 ? (int)i : (int)((__umulhi((u32)i, by.m) + (u32)i) >> by.s), a = (int)i - t * by.d;
        int b = by_area.d == 1 ? t : (int)((__umulhi((u32)t, by_area.m) + (u32)t) >> by_area.s), c = t - b * by_area.d;
        out[i] = (U)in[(((c >> 2) * batch + b) * area + a) * 4 + (c & 3)];
    }
}
extern "C" __global__ void bytes(const char *in, char *out, int n, int c, int a, Divisor d, Divisor e) { transpose(in, out, n, c, a, d, e); }
extern "C" __global__ void words(const int *in, float *out, int n, int c, int a, Divisor d, Divisor e) { transpose(in, out, n, c, a, d, e); }
extern "C" __global__ void many(const int *in, const int *by, int *out, int n, int c, int a, int w, int h, long p) {
    int batch = n / c / a, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = i % w, y = i / w % h, z = i / (w * h);
    out[i * p] = in[((z / c) * batch + y) * a + x] / by[x] + (int)(p % (i + 1));
}
extern "C" __global__ void remainders(u32 *out, u32 a, u32 b, u32 c, u32 d, const u32 *in, int n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] % a + i % b + in[i + c] / d;
}
