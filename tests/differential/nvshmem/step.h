// What the files of this program share.
#pragma once
#include <nvshmem.h>
#include <nvshmemx.h>

/// Defined in ring.cu, used by the others.
extern __device__ int neighbour(int distance);
extern __device__ unsigned long long steps_done;
extern __constant__ int width;

/// Defined in signals.cu.
__device__ void tell(uint64_t *flag, uint64_t value, int pe);
__device__ uint64_t hear(uint64_t *flag, uint64_t value);
