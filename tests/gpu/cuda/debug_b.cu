// Second file of `debug`.
#include "debug.h"
__device__ int calls = 0;
static __device__ void note_call() { atomicAdd(&calls, 1); }
__device__ int value_of(const Node &node) {
    note_call();
    Sum<int> twice;
    twice.add(int(node.weight));
    twice.add(int(node.weight));
    return twice.total;
}
