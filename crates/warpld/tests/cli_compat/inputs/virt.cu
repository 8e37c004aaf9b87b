struct B { __device__ virtual int v(int) = 0; __device__ virtual ~B() {} };
struct D : B { __device__ int v(int x) override { return x + 1; } __device__ ~D() {} };
__device__ B *make() { return new D; }
__global__ void kvirt(int *p) { B *b = make(); *p = b->v(*p); delete b; }
