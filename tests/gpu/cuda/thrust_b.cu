// Second file of `thrust`.
#include <thrust/device_vector.h>
#include <thrust/scan.h>
#include <thrust/transform.h>
#include <vector>

struct Widen {
    __device__ long operator()(int value) const { return value; }
};

long scan_last(const std::vector<int> &values) {
    thrust::device_vector<int> device(values.begin(), values.end());
    thrust::device_vector<long> wide(values.size());
    thrust::transform(device.begin(), device.end(), wide.begin(), Widen());
    thrust::inclusive_scan(wide.begin(), wide.end(), wide.begin());
    return wide.back();
}
