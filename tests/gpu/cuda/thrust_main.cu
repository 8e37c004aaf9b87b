// Sorting, scanning and reducing with thrust, its code in two files.
#define PROGRAM_MAIN
#include "check.h"
#include <algorithm>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
const char *program = "thrust";

long scan_last(const std::vector<int> &values);

void check() {
    const int n = 200000;
    std::vector<int> values(n);
    unsigned state = 12345;
    for (int &value : values) value = int((state = state * 1664525u + 1013904223u) >> 12);
    thrust::device_vector<int> device(values.begin(), values.end());
    thrust::sort(device.begin(), device.end());
    long sum = thrust::reduce(device.begin(), device.end(), 0L, thrust::plus<long>());
    long scanned = scan_last(values);
    std::vector<int> got(n);
    thrust::copy(device.begin(), device.end(), got.begin());
    std::sort(values.begin(), values.end());
    long want = 0;
    for (int i = 0; i < n; i++) {
        want += values[i];
        EXPECT_AT("sorted", i, got[i], values[i]);
    }
    EXPECT(sum, want);
    EXPECT(scanned, want);
}
