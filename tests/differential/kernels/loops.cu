// Loops with data-dependent ends, local arrays, stencils and searches.
typedef unsigned u32;
__global__ void escape(u32 *image, int width, float x0, float y0, float step, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    float a = x0 + x * step, b = y0 + y * step, r = 0, i = 0;
    int n = 0;
    while (r * r + i * i < 4.f && n < most) {
        float t = r * r - i * i + a;
        i = 2 * r * i + b;
        r = t;
        ++n;
    }
    image[y * width + x] = n == most ? 0 : n * 0x010305u;
}
__global__ void stencil(const float *__restrict__ in, float *out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x <= 0 || y <= 0 || x >= nx - 1 || y >= ny - 1) return;
    float below = in[y * nx + x], here = in[(ny + y) * nx + x];
    for (int z = 1; z < nz - 1; ++z) {
        int at = (z * ny + y) * nx + x;
        float above = in[at + nx * ny];
        out[at] = here * 0.4f + 0.1f * (below + above + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]);
        below = here;
        here = above;
    }
}
__global__ void bisect(const int *sorted, int n, const int *wanted, int *found, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) {
        int low = 0, high = n, key = wanted[i];
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted[middle] < key) low = middle + 1;
            else high = middle;
        }
        found[i] = low < n && sorted[low] == key ? low : -1;
    }
}
__global__ void edit_distance(const char *a, const char *b, int n, int m, int *out) {
    __shared__ int rows[3][257];
    int t = threadIdx.x;
    for (int d = 0; d <= n + m; ++d) {
        int *now = rows[d % 3], *last = rows[(d + 2) % 3], *before = rows[(d + 1) % 3];
        int i = t, j = d - t;
        if (i <= n && j >= 0 && j <= m) {
            int v = i == 0 ? j : j == 0 ? i : min(min(last[i], last[i - 1]) + 1, before[i - 1] + (a[i - 1] != b[j - 1]));
            now[i] = v;
            if (i == n && j == m) *out = v;
        }
        __syncthreads();
    }
}
__global__ void levels(const int *start, const int *edges, int *level, int n, int now, int *more) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != now) return;
    for (int e = start[v]; e < start[v + 1]; ++e) {
        int w = edges[e];
        if (level[w] < 0) {
            level[w] = now + 1;
            *more = 1;
        }
    }
}
__global__ void small_solve(const float *in, float *out, int count) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    float a[4][5];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 5; ++j) a[i][j] = in[(k * 4 + i) * 5 + j];
    for (int p = 0; p < 4; ++p) {
        float inverse = __frcp_rn(a[p][p]);
        for (int j = p; j < 5; ++j) a[p][j] *= inverse;
        for (int i = 0; i < 4; ++i)
            if (i != p)
                for (int j = 4; j >= p; --j) a[i][j] -= a[i][p] * a[p][j];
    }
    for (int i = 0; i < 4; ++i) out[k * 4 + i] = a[i][4];
}
__global__ void queue_of_numbers(const u32 *in, u32 *out, int n, int which) {
    u32 heap[24];
    int size = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        u32 v = in[i];
        int at = size < 24 ? size++ : 0;
        heap[at] = v;
        while (at > 0 && heap[(at - 1) / 2] < heap[at]) {
            u32 t = heap[at];
            heap[at] = heap[(at - 1) / 2];
            heap[(at - 1) / 2] = t;
            at = (at - 1) / 2;
        }
    }
    out[threadIdx.x] = size ? heap[which % size] : 0;
}
__global__ void transpose(const float4 *in, float4 *out, int width) {
    __shared__ float tile[32][33];
    const float *source = (const float *)in;
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
        tile[r][threadIdx.x] = source[(blockIdx.y * 32 + r) * width + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    int r = threadIdx.y * 4 + threadIdx.x / 8, c = threadIdx.x % 8 * 4;
    float4 v = make_float4(tile[c][r], tile[c + 1][r], tile[c + 2][r], tile[c + 3][r]);
    out[((blockIdx.x * 32 + r) * width + blockIdx.y * 32 + c) / 4] = v;
}
__global__ void sieve(unsigned char *marks, u32 n) {
    for (u32 p = 2 + blockIdx.x; p * p <= n; p += gridDim.x) {
        if (marks[p]) continue;
        for (u32 q = p * p + threadIdx.x * p; q <= n; q += blockDim.x * p) marks[q] = 1;
    }
}
__global__ void bodies(const float4 *place, float4 *speed, int n, float step) {
    __shared__ float4 near[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = place[i];
    float3 pull = make_float3(0, 0, 0);
    for (int tile = 0; tile < n; tile += 128) {
        near[threadIdx.x] = place[tile + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; ++j) {
            float dx = near[j].x - me.x, dy = near[j].y - me.y, dz = near[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
            float w = near[j].w * r * r * r;
            pull.x += dx * w, pull.y += dy * w, pull.z += dz * w;
        }
        __syncthreads();
    }
    float4 v = speed[i];
    v.x += pull.x * step, v.y += pull.y * step, v.z += pull.z * step;
    speed[i] = v;
}
