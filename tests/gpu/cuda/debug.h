#pragma once
struct Node {
    int next;
    float weight;
};
template <class T> struct Sum {
    T total = 0;
    __device__ void add(T value) { total += value; }
};
extern __device__ int calls;
__device__ int value_of(const Node &node);
