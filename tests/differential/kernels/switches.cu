// Switches that become jump tables, in loops and on their own, and state machines.
typedef unsigned u32;
__global__ void interpret(const u32 *code, int length, const float *in, float *out) {
    float r[8];
    for (int i = 0; i < 8; ++i) r[i] = in[threadIdx.x * 8 + i];
    for (int at = 0; at < length;) {
        u32 word = code[at++];
        float &d = r[word >> 8 & 7];
        float a = r[word >> 12 & 7], b = r[word >> 16 & 7];
        switch (word & 15) {
        case 0: d = a + b; break;
        case 1: d = a - b; break;
        case 2: d = a * b; break;
        case 3: d = fmaf(a, b, d); break;
        case 4: d = fminf(a, b); break;
        case 5: d = __sinf(a); break;
        case 6: d = a < b ? a : d; break;
        case 7: at += (int)(word >> 20 & 15); break;
        case 8: if (a > 0) at -= (int)(word >> 20 & 15); break;
        case 9: d = in[(int)a & 1023]; break;
        case 10: out[(int)b & 1023] = a; break;
        case 11: d = __shfl_xor_sync(__activemask(), a, 1); break;
        default: return;
        }
    }
    for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = r[i];
}
__global__ void choose(const int *kind, const int *a, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = a[i], r;
    switch (kind[i]) {
    case 0: r = v * 3; break;
    case 1: r = __popc(v); break;
    case 2: r = a[i ^ 1] + v; break;
    case 3: r = v >> 3 ^ v; break;
    case 4: r = atomicAdd(out + n, v); break;
    case 5: r = __clz(v) - 1; break;
    case 6: r = min(v, 17); break;
    case 7: r = v * v; break;
    case 8: out[i] = 5; return;
    default: r = -1;
    }
    out[i] = r;
}
__global__ void parse(const char *text, int length, int *numbers, int *count) {
    int state = 0, value = 0, found = 0;
    for (int i = 0; i < length; ++i) {
        char c = text[i * blockDim.x + threadIdx.x];
        switch (state) {
        case 0: state = c >= '0' && c <= '9' ? (value = c - '0', 1) : c == '"' ? 2 : c == '#' ? 4 : 0; break;
        case 1:
            if (c >= '0' && c <= '9') value = value * 10 + c - '0';
            else numbers[threadIdx.x * 16 + found++ % 16] = value, state = c == '.' ? 3 : 0;
            break;
        case 2: state = c == '"' ? 0 : c == '\\' ? 5 : 2; break;
        case 3: state = c >= '0' && c <= '9' ? 3 : 0; break;
        case 4: state = c == '\n' ? 0 : 4; break;
        case 5: state = 2; break;
        }
    }
    count[threadIdx.x] = found;
}
__global__ void sizes(const unsigned char *kind, const void *in, double *out) {
    int i = threadIdx.x;
    double v = 0;
    switch (kind[blockIdx.x]) {
    case 0: v = ((const signed char *)in)[i]; break;
    case 1: v = ((const short *)in)[i]; break;
    case 2: v = ((const int *)in)[i]; break;
    case 3: v = (double)((const long long *)in)[i]; break;
    case 4: v = ((const float *)in)[i]; break;
    case 5: v = ((const double *)in)[i]; break;
    case 6: v = ((const unsigned *)in)[i]; break;
    }
    out[blockIdx.x * blockDim.x + i] = v;
}
