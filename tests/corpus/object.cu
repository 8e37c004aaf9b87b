// Virtual functions, pointers to functions, recursion and printf.
#include <cstdio>

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Disc : Shape {
    float radius;
    __device__ Disc(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159f * radius * radius; }
};

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

typedef int (*op)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ op ops[2] = {add, sub};

template <typename T> __device__ __noinline__ T twice(T x) { return x + x; }

__global__ void objects(float *out, int kind) {
    Shape *s = kind ? (Shape *)new Square(2.0f) : (Shape *)new Disc(1.0f);
    out[0] = s->area() + fib(kind) + ops[kind & 1](kind, 3) + twice(kind) + twice(2.0 * kind);
    printf("%f %d\n", out[0], kind);
    delete s;
}
