// External functions the driver provides.
#include <cassert>
#include <cstdio>

__device__ __noinline__ void check(const int *data, int i) {
    assert(data[i] >= 0);
    printf("item %d is %d\n", i, data[i]);
}

__global__ void walk(const int *data, int count) {
    int *copy = new int[count];
    for (int i = 0; i < count; i++) {
        copy[i] = data[i];
        check(copy, i);
    }
    delete[] copy;
    void *raw = malloc(count);
    if (!raw) __trap();
    free(raw);
}

void launch(const int *data) { walk<<<1, 1>>>(data, 4); }
