#include "shapes.h"

__device__ float Square::area() const { return side * side; }
__device__ float Circle::area() const { return 3.14159f * radius * radius; }

__device__ Shape *make(int kind, float size) {
    if (kind == 0) return new Square(size);
    return new Circle(size);
}

__global__ void unusedByHost(float *out) { out[0] = Square(out[1]).area(); }
