// Tables of visible, static and anonymous functions.
typedef float (*Fn)(float, int);
__device__ float m1(float a, int b) { return a - b; }
__device__ float m2(float a, int b) { return a / b; }
static __device__ __noinline__ float hidden(float a, int b) { return sqrtf(a) * b; }
namespace {
__device__ float anon(float a, int b) { return __expf(a) + b; }
} // namespace
__device__ Fn table[4] = {m1, m2, hidden, anon};
__constant__ Fn ctable[2] = {m2, m1};
