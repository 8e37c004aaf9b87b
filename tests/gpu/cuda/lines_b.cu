// Second file of `lines`.
#include "lines.h"
__device__ int blend(int a, int b) { return a * b + 1; }

void fill_in_other_file(int *data, int count, int start) {
    for_each<<<1, 128>>>(count, [=] __device__(int i) { data[i] = start + 2 * i; });
}
