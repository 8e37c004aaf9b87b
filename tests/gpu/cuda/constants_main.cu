// Constant memory in three files, one of them read through pointers.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "constants";

__constant__ int weights[4] = {1, 2, 3, 4};
static __constant__ char letter = 'x';
extern __constant__ double factors[3];
extern __constant__ unsigned char table[256];
__device__ int static_letter();
__device__ double apply(const double *which, int count);

__global__ void read(double *out, int shift) {
    int i = threadIdx.x;
    const double *other = factors + shift;
    out[i] = weights[i % 4] + table[(i * 7) % 256] + letter * 1000.0;
    out[32 + i] = apply(other, 2) + static_letter();
}

void verify(const std::vector<double> &got, const int *w, const double *f, int shift) {
    for (int i = 0; i < 32; i++) {
        EXPECT_AT("read", i, got[i], w[i % 4] + ((i * 7) % 256 ^ 0x55) + 'x' * 1000.0);
        EXPECT_AT("apply", i, got[32 + i], f[shift] + 10 * f[shift + 1] + 'y');
    }
}

void check() {
    const int w[] = {1, 2, 3, 4}, w2[] = {40, 30, 20, 10};
    const double f[] = {0.5, 0.25, 8}, f2[] = {100, 200, 300};
    unsigned char bytes[256];
    for (int i = 0; i < 256; i++) bytes[i] = i ^ 0x55;
    OK(cudaMemcpyToSymbol(table, bytes, sizeof bytes));
    Buffer<double> out(64);
    read<<<1, 32>>>(out, 0);
    RAN();
    verify(out.get(), w, f, 0);
    OK(cudaMemcpyToSymbol(weights, w2, sizeof w2));
    OK(cudaMemcpyToSymbol(factors, f2, sizeof f2));
    read<<<1, 32>>>(out, 1);
    RAN();
    verify(out.get(), w2, f2, 1);
    double back[3];
    OK(cudaMemcpyFromSymbol(back, factors, sizeof back));
    for (int i = 0; i < 3; i++) EXPECT_AT("factors", i, back[i], f2[i]);
}
