// A library of templates as inputs: sort and reduce from the toolkit's CCCL.
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

struct Odd {
    __device__ bool operator()(int x) const { return x & 1; }
};

int arrange(thrust::device_vector<int> &items) {
    thrust::sort(items.begin(), items.end());
    return thrust::count_if(items.begin(), items.end(), Odd());
}
