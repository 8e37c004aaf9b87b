// Abstract classes, several bases, virtual bases and templates of classes.
#pragma once
struct Base {
    int id;
    __device__ Base(int i) : id(i) {}
    __device__ virtual ~Base() {}
    __device__ virtual float f(float) const = 0;
    __device__ virtual int kind() { return 0; }
};
struct Mixin {
    float m;
    __device__ Mixin(float x) : m(x) {}
    __device__ virtual float mix(float) { return m; }
};
struct D1 : Base {
    __device__ D1(int i) : Base(i) {}
    __device__ float f(float) const override;
};
struct D2 : D1, Mixin {
    __device__ D2(int i) : D1(i), Mixin(2.f) {}
    __device__ float f(float) const override;
    __device__ float mix(float) override;
    __device__ int kind() override { return 2; }
};
struct V1 : virtual Base {
    __device__ V1() : Base(5) {}
    __device__ float f(float x) const override { return x - 1; }
};
__device__ Base *build(int);
template <class T> struct Poly : Base {
    T t;
    __device__ Poly(T v) : Base(9), t(v) {}
    __device__ float f(float x) const override { return x * t; }
};
