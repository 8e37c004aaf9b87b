// Second file of `templates`: the same instantiations, and one of its own.
#include "check.h"
#include "templates.h"

__global__ void folds_b(const int *values, const float *others, int count, float *out) {
    out[0] = fold<int>(values, count, larger<int>);
    out[1] = fold<float>(others, count, plus<float>);
    Poly<double, 3> p{{2, 0, 1}};
    out[2] = p.at(5);
    out[3] = count_use<int>();
}

void check_other_file() {
    Buffer<int> values(std::vector<int>{3, 9, 1, 7});
    Buffer<float> others(std::vector<float>{0.5f, 1.5f, 2.0f, 8.0f});
    twice<int><<<1, 4>>>(values, 4);
    RAN();
    twice<float><<<1, 4>>>(others, 4);
    RAN();
    Buffer<float> out(4);
    folds_b<<<1, 1>>>(values, others, 4, out);
    RAN();
    auto got = out.get();
    EXPECT(got[0], 18);
    EXPECT(got[1], 24);
    EXPECT(got[2], 27);
    EXPECT(got[3], 32 + 4 + 4);
}
