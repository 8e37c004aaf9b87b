// Recursion over two files that prints, and its output read back.
#define PROGRAM_MAIN
#include "check.h"
#include <string>
#include <unistd.h>
const char *program = "printing";

__device__ int down(int depth, const char *tag);
extern __device__ int ackermann(int m, int n);

__global__ void talk(int *out) {
    printf("start %d %s %.2f\n", 7, "text", 1.5);
    out[0] = down(5, "d");
    out[1] = ackermann(2, 3);
}

// What `work` writes to the standard output.
template <class Work> std::string captured(Work work) {
    std::fflush(stdout);
    FILE *file = std::tmpfile();
    int saved = dup(1);
    dup2(fileno(file), 1);
    work();
    std::fflush(stdout);
    dup2(saved, 1);
    close(saved);
    std::rewind(file);
    std::string text;
    for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
    std::fclose(file);
    return text;
}

void check() {
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
    Buffer<int> out(2);
    std::string text = captured([&] {
        talk<<<1, 1>>>(out);
        cudaDeviceSynchronize();
    });
    RAN();
    auto got = out.get();
    EXPECT(got[0], 5 + 4 + 3 + 2 + 1);
    EXPECT(got[1], 9);
    std::string want = "start 7 text 1.50\nd5\nd4\nd3\nd2\nd1\nbottom d\n";
    EXPECT(text == want, true);
    if (text != want) std::printf("printed: <%s>\n", text.c_str());
}
