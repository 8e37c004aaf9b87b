// Second file of `asserts`.
#include <cassert>
__device__ void require(int value) {
    assert(value > 0);
}
