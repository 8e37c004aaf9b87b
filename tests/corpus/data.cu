// Variables in every memory space.
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ float gain;
__device__ int zeroed[16];
__device__ int filled[4] = {1, 2, 3, 4};
__device__ const char *label = "label";
__device__ int *link = &filled[2];
__managed__ int both;
static __device__ int hidden = 7;
extern __shared__ int dynamic[];

__global__ void spaces(int *out) {
    __shared__ int tile[32];
    __shared__ __align__(16) double pair[2];
    int local[20];
    int t = threadIdx.x;
    for (int i = 0; i < 20; ++i) local[(i * out[0]) % 20] = i + t;
    tile[t] = table[t & 7] + zeroed[t & 15];
    pair[t & 1] = gain;
    __syncthreads();
    out[t] = tile[31 - t] + (int)pair[t & 1] + dynamic[t] + local[t % 20] + *link + hidden + both + label[0];
}

__global__ void plain(int *out) { *out = filled[1]++; }
