// Weak code and data that both files of `templates` instantiate.
#pragma once
template <class T, int N> struct Poly {
    T c[N];
    __device__ __noinline__ T at(T x) const {
        T sum = 0;
        for (int i = N - 1; i >= 0; i--) sum = sum * x + c[i];
        return sum;
    }
};

template <class T> __device__ __noinline__ T fold(const T *values, int count, T (*op)(T, T)) {
    T sum = values[0];
    for (int i = 1; i < count; i++) sum = op(sum, values[i]);
    return sum;
}

template <class T> __device__ __noinline__ T plus(T a, T b) { return a + b; }
template <class T> __device__ __noinline__ T larger(T a, T b) { return a > b ? a : b; }

// One counter for the program, however many files use it.
template <class T> __device__ int uses = 0;
template <class T> __device__ __noinline__ int count_use() { return atomicAdd(&uses<T>, 1); }

template <class T> __global__ void twice(T *data, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = plus(data[i], data[i]);
    count_use<T>();
}

void check_other_file();
