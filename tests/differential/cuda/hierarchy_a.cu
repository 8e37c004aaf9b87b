// Objects of a class hierarchy, made and used by kernels.
#include "hierarchy.cuh"
__global__ void run(float *o, int n) {
    for (int i = 0; i < n; i++) {
        Base *b = build(i);
        o[i] = b->f(o[i]) + b->kind();
        delete b;
    }
}
__global__ void inl(float *o) {
    Poly<int> p(3);
    Poly<double> q(2.5);
    Base *b = o[0] > 0 ? (Base *)&p : (Base *)&q;
    o[1] = b->f(2);
}
void go(float *o) {
    run<<<1, 1>>>(o, 3);
    inl<<<1, 1>>>(o);
}
