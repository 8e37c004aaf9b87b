// Texture and surface objects of all shapes.
typedef cudaTextureObject_t T;
typedef cudaSurfaceObject_t S;
__global__ void shapes(T a, T b, T c, T d, T e, T f, float4 *out, float x, float y, float z, int k) {
    int i = threadIdx.x;
    float4 v = tex1D<float4>(a, x + i), w = tex2D<float4>(b, x, y * i), u = tex3D<float4>(c, x, y, z + i);
    float4 t = texCubemap<float4>(d, x, y, z), s = tex2DLayered<float4>(e, x, y, k), r = texCubemapLayered<float4>(f, x, y, z, k);
    out[i] = make_float4(v.x + w.y + u.z, v.y + t.x + s.w, w.w + r.x, u.x + t.z + s.x + r.w);
    out[i + 32].x = tex1Dfetch<float>(a, i) + tex1DLayered<float>(e, x, k) + tex2DLod<float>(b, x, y, z) + tex2DGrad<float>(b, x, y, make_float2(x, y), make_float2(z, x));
}
__global__ void filter(T image, S out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
#pragma unroll
    for (int j = -2; j <= 2; ++j)
        for (int i = -2; i <= 2; ++i) sum += tex2D<float>(image, x + i, y + j) * (1.f / (1 + i * i + j * j));
    surf2Dwrite(sum, out, x * 4, y, cudaBoundaryModeClamp);
}
__global__ void gathered(T image, float4 *out, float x, float y) {
    float4 r = tex2Dgather<float4>(image, x, y, 0), g = tex2Dgather<float4>(image, x, y, 1), b = tex2Dgather<float4>(image, y, x, 2);
    out[threadIdx.x] = make_float4(r.x + g.y, r.y + g.z, r.z + b.w, r.w * b.x);
}
__global__ void surfaces(S a, S b, S c, int *out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int v = surf1Dread<int>(a, i * 4);
        int4 w = surf2Dread<int4>(b, i * 16, n - i);
        short2 u = surf3Dread<short2>(c, i * 4, 1, 2, cudaBoundaryModeZero);
        surf1Dwrite((int)(v + w.x), a, i * 4);
        surf2Dwrite(make_int2(w.y, u.x), b, i * 8, 1);
        surf3Dwrite((unsigned char)u.y, c, i, 1, 3);
        out[i] = v + w.z + u.y;
    }
}
__global__ void march(T volume, T colours, uchar4 *out, float3 from, float3 step, int n) {
    float r = 0, g = 0, b = 0, left = 1;
    float3 p = make_float3(from.x + threadIdx.x * step.y, from.y + blockIdx.x * step.x, from.z);
    for (int i = 0; i < n && left > 0.01f; ++i) {
        float d = tex3D<float>(volume, p.x, p.y, p.z);
        float4 c = tex1D<float4>(colours, d);
        float a = c.w * left;
        r += c.x * a, g += c.y * a, b += c.z * a;
        left -= a;
        p.x += step.x, p.y += step.y, p.z += step.z;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = make_uchar4(r * 255, g * 255, b * 255, left * 255);
}
