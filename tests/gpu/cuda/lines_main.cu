// Extended lambdas, built with line tables (-lineinfo).
#define PROGRAM_MAIN
#include "check.h"
#include "lines.h"
const char *program = "lines";

void fill_in_other_file(int *data, int count, int start);

void check() {
    const int n = 100;
    Buffer<int> data(n);
    fill_in_other_file(data, n, 5);
    int *p = data;
    int factor = 3;
    for_each<<<1, 128>>>(n, [=] __device__(int i) { p[i] = blend(p[i], factor); });
    RAN();
    auto got = data.get();
    for (int i = 0; i < n; i++) EXPECT_AT("data", i, got[i], 3 * (5 + 2 * i) + 1);
}
