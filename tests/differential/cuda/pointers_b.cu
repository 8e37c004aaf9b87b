typedef int (*Step)(int, int);
__device__ int addStep(int a, int b);
static __device__ int hidden(int a, int b) { return a * b; }
static __device__ __noinline__ int fold(int a) { return a > 100 ? fold(a / 3) + 1 : a; }
__device__ int foldStep(int a, int b) { return fold(a) + b; }
__device__ int deadStep(int a, int b) { return foldStep(a, b) / b; }
__device__ Step steps[4] = {addStep, hidden, foldStep, nullptr};
