// A device assertion: the error reaches the host, and the text names the file.
#define PROGRAM_MAIN
#include "check.h"
#include <string>
#include <unistd.h>
const char *program = "asserts";

__device__ void require(int value);

__global__ void probe(int limit) { require(limit - int(threadIdx.x)); }

void check() {
    probe<<<1, 32>>>(40);
    RAN();
    std::fflush(stderr);
    FILE *file = std::tmpfile();
    int saved = dup(2);
    dup2(fileno(file), 2);
    probe<<<1, 32>>>(31);
    cudaError_t status = cudaDeviceSynchronize();
    std::fflush(stderr);
    dup2(saved, 2);
    close(saved);
    std::rewind(file);
    std::string text;
    for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
    std::fclose(file);
    EXPECT(status, cudaErrorAssert);
    EXPECT(text.find("asserts_b.cu:4") != std::string::npos, true);
    EXPECT(text.find("Assertion `value > 0` failed") != std::string::npos, true);
    EXPECT(text.find("thread: [31,0,0]") != std::string::npos, true);
    if (failures > 0) std::printf("written: <%s>\n", text.c_str());
}
