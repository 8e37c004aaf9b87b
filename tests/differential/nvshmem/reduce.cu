// Collectives over teams, as templates over the type and the operation. (Each one that is used
// takes the compiler seconds per target: they are inlined as a whole.)
#include "step.h"

template <class T> struct Collective;

#define COLLECTIVE(T)                                                                       \
    template <> struct Collective<T> {                                                      \
        static __device__ int sum(nvshmem_team_t team, T *to, const T *from, size_t n) {    \
            return nvshmem_##T##_sum_reduce(team, to, from, n);                             \
        }                                                                                   \
        static __device__ int turn(nvshmem_team_t team, T *to, const T *from, size_t n) {   \
            return nvshmem_##T##_alltoall(team, to, from, n);                               \
        }                                                                                   \
    }
COLLECTIVE(int);
COLLECTIVE(float);

struct Sum {
    template <class T> __device__ int operator()(nvshmem_team_t team, T *to, const T *from, size_t n) const {
        return Collective<T>::sum(team, to, from, n);
    }
};
struct Turn {
    template <class T> __device__ int operator()(nvshmem_team_t team, T *to, const T *from, size_t n) const {
        return Collective<T>::turn(team, to, from, n);
    }
};

template <class T, class Operation>
__global__ void collect(nvshmem_team_t team, T *to, const T *from, size_t n, uint64_t *flag) {
    if (Operation()(team, to, from, n) == 0) {
        tell(flag, steps_done, neighbour(width));
    }
}

template <class T> __global__ void meet(T *rows, size_t n) {
    int row = nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, nvshmem_my_pe(), NVSHMEMX_TEAM_NODE);
    if (row >= 0 && nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) < width) {
        nvshmem_putmem(rows, rows + n, n * sizeof(T), row);
    }
    nvshmem_team_sync(NVSHMEMX_TEAM_NODE);
}

template __global__ void collect<int, Turn>(nvshmem_team_t, int *, const int *, size_t, uint64_t *);

// Launched here, which makes host references of these two alone.
void start(float *rows, uint64_t *flag) {
    collect<float, Sum><<<1, 32>>>(NVSHMEM_TEAM_WORLD, rows, rows, 1, flag);
    meet<float><<<1, 32>>>(rows, 1);
}
