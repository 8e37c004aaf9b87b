// What an early exit and WARPSYNC.ALL wait for since 13.1, and operations on 64 bits and uniform registers.
#include <cuda_bf16.h>

// Results in uniform registers that leave their block share a scoreboard: the exit needs them.
extern "C" __global__ void waited(const float *in, const float *bias, float *out, int pitch,
                                  int width, long long count) {
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const float *row = in + (blockIdx.y * 128LL) * (pitch / 4) + threadIdx.x * (pitch / 4);
    float start = 0;
    if (bias != nullptr) start = bias[blockIdx.y * 128 + threadIdx.x];
    if (count < 1) return;
    const float first = row[0], second = row[1];
    float *to = out + blockIdx.x * (long long)width + threadIdx.x;
    for (long long i = 0; i < count; ++i) to[i * width] = first * i + second + start;
}

// UIMAD.HI: a division by a divisor that was prepared on the host.
extern "C" __global__ void divided(const float *in, float *out, uint3 divisor, uint3 other,
                                   long long step, int limit) {
    __shared__ int turn;
    const unsigned y = blockIdx.y;
    atomicExch(&turn, 0);
    __syncthreads();
    if (turn >= limit) return;
    const unsigned row = __umulhi(blockIdx.x, divisor.x) >> divisor.y;
    const unsigned column = blockIdx.x - row * divisor.z;
    const unsigned plane = __umulhi(y, other.x) >> other.y;
    for (long long at = threadIdx.x; at < step; at += blockDim.x)
        out[(row + plane) * step + at] = in[column * step + at] + row;
}

// SEL.64 and USEL.64 of uniform registers.
extern "C" __global__ void chosen(const double *in, double *out, long long n, long long first,
                                  long long second, int limit) {
    __shared__ int turn;
    const int y = blockIdx.y;
    atomicExch(&turn, 0);
    __syncthreads();
    if (turn >= limit) return;
    const long long at = threadIdx.x + 1024LL * blockIdx.x;
    const long long place = at < n ? at + second : first;
    const long long count = n > 1 ? n : 1;
    out[place + y] = in[at < second ? first : at * y] * count;
}

// VHMNMX: the largest of three pairs.
extern "C" __global__ void largest(const __nv_bfloat162 *in, __nv_bfloat162 *out, int n, int limit) {
    __shared__ int turn;
    const int y = blockIdx.y;
    atomicExch(&turn, 0);
    __syncthreads();
    if (turn >= limit) return;
    __nv_bfloat162 most = in[threadIdx.x];
    for (int i = y; i < n; i += 2)
        most = __hmax2(__hmax2(most, __habs2(in[i])), __habs2(in[i + 1]));
    out[threadIdx.x + y] = most;
}

// WARPSYNC.ALL at the start of a loop waits for results in uniform registers from before it.
extern "C" __global__ void gathered(const int *in, int *out, int n, const int *flag, int limit) {
    __shared__ int next;
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        int value;
        if (threadIdx.x == 0)
            asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
        __syncwarp();
        if (threadIdx.x == 0) next = value;
        __syncthreads();
        if (next > limit) return;
        out[base + threadIdx.x] = in[base + threadIdx.x] + next;
        __syncthreads();
    }
}
