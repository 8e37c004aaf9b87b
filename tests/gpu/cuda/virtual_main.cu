// Virtual functions across files, objects on the device heap.
#define PROGRAM_MAIN
#include "check.h"
#include "virtual.h"
const char *program = "virtual";

__global__ void make(Shape **shapes, int count) {
    int i = threadIdx.x;
    if (i >= count) return;
    if (i % 3 == 0) shapes[i] = new Square(i);
    if (i % 3 == 1) shapes[i] = new Disc(i);
    if (i % 3 == 2) shapes[i] = new Ring(i, 1);
}

__global__ void measure(Shape **shapes, float *areas, int *corners) {
    int i = threadIdx.x;
    areas[i] = shapes[i]->area();
    corners[i] = shapes[i]->corners();
}

__global__ void drop(Shape **shapes) { delete shapes[threadIdx.x]; }

void check() {
    const int n = 30;
    Buffer<Shape *> shapes(n);
    Buffer<float> areas(n);
    Buffer<int> corners(n);
    make<<<1, 32>>>(shapes, n);
    RAN();
    measure<<<1, n>>>(shapes, areas, corners);
    RAN();
    drop<<<1, n>>>(shapes);
    RAN();
    auto got = areas.get();
    auto got_corners = corners.get();
    for (int i = 0; i < n; i++) {
        int want = i % 3 == 0 ? i * i : i % 3 == 1 ? 3 * i * i : 3 * i * i - 3;
        EXPECT_AT("area", i, got[i], want);
        EXPECT_AT("corners", i, got_corners[i], i % 3 == 0 ? 4 : 0);
    }
    int gone = 0;
    OK(cudaMemcpyFromSymbol(&gone, rings_gone, sizeof gone));
    EXPECT(gone, n / 3);
}
