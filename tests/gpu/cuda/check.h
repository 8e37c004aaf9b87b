// What every program shares: device buffers, comparisons, and the verdict.
//
// A program defines `const char *program` and `void check()`. Exit status:
// 0 everything as expected, 1 something was not, 77 there is no CUDA device.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

extern const char *program;
void check();

inline int comparisons = 0;
inline int failures = 0;

inline void cuda_ok(cudaError_t status, const char *what, int line) {
    if (status == cudaSuccess) return;
    std::printf("FAIL %s: line %d: %s: %s\n", program, line, what, cudaGetErrorString(status));
    std::exit(1);
}
#define OK(call) cuda_ok((call), #call, __LINE__)
// Launch errors and errors of the kernel itself.
#define RAN() (OK(cudaGetLastError()), OK(cudaDeviceSynchronize()))

inline void expect_at(int line, const char *what, long index, double got, double want) {
    comparisons++;
    if (got == want) return;
    if (failures++ < 10)
        std::printf("FAIL %s: line %d: %s[%ld] is %.17g, expected %.17g\n", program, line, what,
                    index, got, want);
}
#define EXPECT(got, want) expect_at(__LINE__, #got, 0, double(got), double(want))
#define EXPECT_AT(what, index, got, want) \
    expect_at(__LINE__, what, long(index), double(got), double(want))

// Memory of the device, zero at first.
template <class T> struct Buffer {
    T *data = nullptr;
    size_t count;
    explicit Buffer(size_t count) : count(count) {
        OK(cudaMalloc(&data, count * sizeof(T)));
        OK(cudaMemset(data, 0, count * sizeof(T)));
    }
    explicit Buffer(const std::vector<T> &from) : Buffer(from.size()) {
        OK(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(data); }
    operator T *() { return data; }
    std::vector<T> get() {
        std::vector<T> out(count);
        OK(cudaMemcpy(out.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
};

#ifdef PROGRAM_MAIN
int main() {
    int devices = 0;
    cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        std::printf("SKIP %s: no CUDA device (%s)\n", program, cudaGetErrorString(status));
        return 77;
    }
    check();
    if (failures == 0 && comparisons > 0) {
        std::printf("PASS %s: %d values as expected\n", program, comparisons);
        return 0;
    }
    std::printf("FAIL %s: %d of %d values wrong\n", program, failures, comparisons);
    return 1;
}
#endif
