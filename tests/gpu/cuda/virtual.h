// Classes of `virtual`: the vtables live in one file, the calls in the other.
#pragma once
struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area() const override;
    __device__ int corners() const override;
};
struct Disc : Shape {
    float radius;
    __device__ explicit Disc(float radius) : radius(radius) {}
    __device__ float area() const override;
};
struct Ring : Disc {
    float hole;
    __device__ Ring(float radius, float hole) : Disc(radius), hole(hole) {}
    __device__ float area() const override;
    __device__ ~Ring() override;
};
extern __device__ int rings_gone;
