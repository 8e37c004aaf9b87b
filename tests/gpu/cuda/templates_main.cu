// Templates and inline functions instantiated in two files.
#define PROGRAM_MAIN
#include "check.h"
#include "templates.h"
const char *program = "templates";

__global__ void poly(double *out) {
    Poly<double, 3> p{{1, 2, 3}};
    Poly<int, 4> q{{1, 0, 0, 2}};
    out[threadIdx.x] = p.at(threadIdx.x) + q.at(threadIdx.x);
    count_use<int>();
}

__global__ void folds(const int *values, int count, int *out) {
    out[0] = fold<int>(values, count, plus<int>);
    out[1] = fold<int>(values, count, larger<int>);
    out[2] = uses<int>;
}

void check() {
    Buffer<double> out(32);
    poly<<<1, 32>>>(out);
    RAN();
    auto got = out.get();
    for (int i = 0; i < 32; i++)
        EXPECT_AT("poly", i, got[i], 1.0 + 2 * i + 3 * i * i + 1 + 2 * i * i * i);
    Buffer<int> values(std::vector<int>{4, -2, 19, 5});
    twice<int><<<1, 4>>>(values, 4);
    RAN();
    Buffer<int> sums(3);
    folds<<<1, 1>>>(values, 4, sums);
    RAN();
    auto got_sums = sums.get();
    EXPECT(got_sums[0], 52);
    EXPECT(got_sums[1], 38);
    EXPECT(got_sums[2], 32 + 4);
    check_other_file();
}
