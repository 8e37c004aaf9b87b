// Virtual calls: tables of function addresses in several files.
#include "shapes.h"

__global__ void measure(float *out, int kind) {
    Shape *shape = make(kind, out[0]);
    out[threadIdx.x] = shape->area() + shape->edge() * shape->scale;
    delete shape;
}

void launch(float *out) { measure<<<1, 1>>>(out, 1); }
