// Lambdas as kernel arguments and as device function pointers.
template <class F>
__global__ void each(int *data, int count, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = f(data[i]);
}

__device__ int apply(int (*f)(int), int x) { return f(x) + f(x + 1); }

__global__ void inside(int *data) {
    auto twice = [](int x) { return 2 * x; };
    auto square = [](int x) { return x * x; };
    data[0] = apply(data[1] > 3 ? +twice : +square, data[2]);
}

void launch(int *data, int k) {
    each<<<4, 64>>>(data, 256, [=] __device__(int x) { return x * k + 1; });
    each<<<4, 64>>>(data, 256, [] __device__(int x) { return x - 1; });
    inside<<<1, 1>>>(data);
}
