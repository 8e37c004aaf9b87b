// Switches that compile to jump tables, in kernels and in functions.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "switches";

__device__ int interpret(const unsigned char *code, int argument);

__global__ void run(const unsigned char *code, int stride, int *out) {
    out[threadIdx.x] = interpret(code + stride * (threadIdx.x % 3), threadIdx.x);
}

__global__ void ladder(int *out) {
    int i = threadIdx.x, v = 0;
    switch (i % 12) {
    case 0: v = i * 3; break;
    case 1: v = i ^ 0x33; break;
    case 2: v = i << 2; [[fallthrough]];
    case 3: v += 1000; break;
    case 4: v = __popc(i); break;
    case 5: v = __brev(i) >> 16; break;
    case 6: v = -i; break;
    case 7: v = i * i * i; break;
    case 8: v = i / 3; break;
    case 9: v = i % 5 + 7; break;
    case 10: v = 77; break;
    default: v = 1 - i; break;
    }
    out[i] = v;
}

int ladder_on_host(int i) {
    unsigned reversed = 0;
    for (int b = 0; b < 32; b++) reversed |= ((unsigned(i) >> b) & 1) << (31 - b);
    switch (i % 12) {
    case 0: return i * 3;
    case 1: return i ^ 0x33;
    case 2: return (i << 2) + 1000;
    case 3: return 1000;
    case 4: return __builtin_popcount(i);
    case 5: return int(reversed >> 16);
    case 6: return -i;
    case 7: return i * i * i;
    case 8: return i / 3;
    case 9: return i % 5 + 7;
    case 10: return 77;
    default: return 1 - i;
    }
}

void check() {
    // Opcodes: 0 stop, 1 double, 2 increment, 3 negate, 4 square, 5 xor, 6 halve, 7 jump back
    std::vector<unsigned char> code{1, 2, 4, 0, 0, 0, 0, 0,  // (2x + 1)^2
                                    3, 5, 2, 1, 0, 0, 0, 0,  // 2 ((-x ^ 21) + 1)
                                    6, 6, 9, 8, 0, 0, 0, 0}; // 10 (x / 4) + 3
    Buffer<unsigned char> device(code);
    Buffer<int> out(192);
    run<<<1, 96>>>(device, 8, out);
    RAN();
    auto got = out.get();
    for (int i = 0; i < 96; i++) {
        int want = i % 3 == 0   ? (2 * i + 1) * (2 * i + 1)
                   : i % 3 == 1 ? 2 * ((-i ^ 21) + 1)
                                : 10 * (i / 4) + 3;
        EXPECT_AT("run", i, got[i], want);
    }
    ladder<<<1, 192>>>(out);
    RAN();
    got = out.get();
    for (int i = 0; i < 192; i++) EXPECT_AT("ladder", i, got[i], ladder_on_host(i));
}
