// Integers: long arithmetic, bits, hashes, packed bytes.
typedef unsigned u32;
typedef unsigned long long u64;
__global__ void multiply_long(const u64 *a, const u64 *b, u64 *out, int words) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    u64 low = 0, high = 0, carry = 0;
    for (int i = 0; i <= k; ++i) {
        if (i >= words || k - i >= words) continue;
        u64 x = a[i], y = b[k - i], l = x * y, h = __umul64hi(x, y);
        low += l;
        h += low < l;
        high += h;
        carry += high < h;
    }
    out[3 * k] = low, out[3 * k + 1] = high, out[3 * k + 2] = carry;
}
__global__ void power_modulo(const u32 *base, const u32 *exponent, u32 *out, u32 modulus, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 result = 1, b = base[i];
    for (u32 e = exponent[i]; e; e >>= 1) {
        if (e & 1) result = (u32)(result * b) ^ modulus;
        b = (u32)(b * b >> 7) + modulus;
    }
    out[i] = (u32)result;
}
__global__ void checksum(const unsigned char *bytes, const int *start, u32 *out, int count) {
    __shared__ u32 table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        u32 c = i;
        for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    u32 c = ~0u;
    for (int i = start[k]; i < start[k + 1]; ++i) c = c >> 8 ^ table[(c ^ bytes[i]) & 255];
    out[k] = ~c;
}
__device__ u32 turn(u32 x, int by) { return __funnelshift_l(x, x, by); }
__global__ void digest(const u32 *in, u32 *out, int blocks) {
    u32 a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u, w[16];
    for (int block = 0; block < blocks; ++block) {
        for (int i = 0; i < 16; ++i) w[i] = __byte_perm(in[(block * blockDim.x + threadIdx.x) * 16 + i], 0, 0x0123);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            u32 f = i < 16 ? (b & c) | (~b & d) : b ^ c ^ d;
            u32 t = a + f + w[i % 16] + i * 0x5a827999u;
            a = d, d = c, c = turn(b, 30), b += turn(t, i % 4 * 5 + 7);
        }
    }
    out[threadIdx.x * 4] = a, out[threadIdx.x * 4 + 1] = b, out[threadIdx.x * 4 + 2] = c, out[threadIdx.x * 4 + 3] = d;
}
__global__ void bits(const u32 *in, u32 *out, const u64 *wide, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        u32 v = in[i];
        u64 w = wide[i];
        u32 r = __popc(v) + __clz(v) * 3 + __ffs(v) * 5 + __brev(v) + __popcll(w) + __clzll(w) + __ffsll(w);
        if (v & 1) r += (u32)__brevll(w) + __fns(v, 3, 2);
        out[i] = r;
    }
}
__global__ void bytes_together(const int *a, const int *b, int *out, int n) {
    int sum = 0, most = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum = __dp4a(a[i], b[i], sum);
        sum = __dp2a_lo(a[i], b[i], sum);
        most = __vmaxs4(most, __vabsdiffu4(a[i], b[i]));
        most = __viaddmax_s32(most, a[i], b[i]);
        most = __vimax3_s16x2(most, a[i], b[i]);
    }
    out[threadIdx.x] = sum ^ most;
}
__global__ void divide(const int *a, const int *b, int *q, int *r, const long long *c, long long *d, int by) {
    int i = threadIdx.x;
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i] + a[i] / by + a[i] % 10;
    d[i] = c[i] / 1000000007LL + (c[i] >> 3) % 97 + (u64)c[i] / 3;
}
__global__ void generate(u64 *state, u32 *out, int n) {
    u64 s0 = state[threadIdx.x * 2], s1 = state[threadIdx.x * 2 + 1];
    for (int i = 0; i < n; ++i) {
        out[i * blockDim.x + threadIdx.x] = (u32)((s0 + s1) >> 32);
        s1 ^= s0;
        s0 = (s0 << 24 | s0 >> 40) ^ s1 ^ s1 << 16;
        s1 = s1 << 37 | s1 >> 27;
    }
    state[threadIdx.x * 2] = s0, state[threadIdx.x * 2 + 1] = s1;
}
__global__ void network(int *data) {
    __shared__ int s[256];
    s[threadIdx.x] = data[blockIdx.x * 256 + threadIdx.x];
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int other = threadIdx.x ^ j;
            int x = s[threadIdx.x], y = s[other];
            __syncthreads();
            bool up = (threadIdx.x & k) == 0, first = threadIdx.x < other;
            s[threadIdx.x] = up == first ? min(x, y) : max(x, y);
        }
    __syncthreads();
    data[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
