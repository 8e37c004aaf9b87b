// Textures and surfaces of all dimensions.
extern "C" __global__ void textures(float4 *o, cudaTextureObject_t t, float x, float y, float z, int i) {
    float u = x + threadIdx.x;
    o[0] = tex1D<float4>(t, u);
    o[1] = tex2D<float4>(t, u, y);
    o[2] = tex3D<float4>(t, u, y, z);
    o[3] = tex1Dfetch<float4>(t, i + threadIdx.x);
    o[4] = tex2DLayered<float4>(t, u, y, i);
    o[5] = texCubemap<float4>(t, u, y, z);
    o[6] = tex2DLod<float4>(t, u, y, z);
    o[7] = tex2DGrad<float4>(t, u, y, make_float2(x, y), make_float2(z, y));
    o[8] = tex2Dgather<float4>(t, u, y, 1);
    o[9] = tex3DGrad<float4>(t, u, y, z, make_float4(x, y, z, u), make_float4(z, y, x, u));
    o[10] = texCubemapLayered<float4>(t, u, y, z, i);
    o[11] = tex1DLayered<float4>(t, u, i);
    o[12] = tex1DLod<float4>(t, u, z);
    o[13] = tex2DLayeredLod<float4>(t, u, y, i, z);
    o[14] = tex3DLod<float4>(t, u, y, z, x);
    o[15].x = tex2D<float>(t, u, y);
    float2 v = tex2D<float2>(t, u * 2, y);
    o[15].y = v.x, o[15].z = v.y;
    o[16] = tex1DGrad<float4>(t, u, x, y);
}
extern "C" __global__ void picked(float *o, const cudaTextureObject_t *t, float x, int i) {
    cudaTextureObject_t mine = t[threadIdx.x];
    o[threadIdx.x] = tex2D<float>(mine, x, x * i) + tex1Dfetch<float>(mine, i) + tex3D<float4>(mine, x, x, i).y;
    int w, h;
    asm volatile("txq.width.b32 %0, [%1];" : "=r"(w) : "l"(mine));
    asm volatile("txq.height.b32 %0, [%1];" : "=r"(h) : "l"(mine));
    o[i] = w * h;
    int4 q;
    asm volatile("tld4.g.2d.v4.s32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}];" : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "l"(mine), "f"(x), "f"(x));
    o[i + 1] = q.x + q.w;
}
extern "C" __global__ void surfaces(int4 *o, cudaSurfaceObject_t s, cudaSurfaceObject_t r, int x, int y, int z) {
    int u = threadIdx.x;
    surf1Dwrite(surf1Dread<int>(s, u * 4), r, u * 4);
    surf2Dwrite(surf2Dread<int4>(s, u * 16, y), r, u * 16, y);
    surf3Dwrite(surf3Dread<int2>(s, u * 8, y, z), r, u * 8, y, z);
    surf2DLayeredwrite(surf2DLayeredread<short>(s, u * 2, y, z), r, u * 2, y, z);
    surf1DLayeredwrite(surf1DLayeredread<char>(s, u, y), r, u, y);
    surfCubemapwrite(surfCubemapread<int4>(s, u * 16, y, z), r, u * 16, y, z);
    o[u].x = surf2Dread<int>(s, x, y, cudaBoundaryModeZero);
    o[u].y = surf2Dread<int>(s, x, z, cudaBoundaryModeClamp);
    asm volatile("sured.b.add.2d.u32.trap [%0, {%1,%2}], %3;" ::"l"(s), "r"(x), "r"(y), "r"(z));
    asm volatile("sust.p.2d.v4.b32.trap [%0, {%1,%2}], {%3,%3,%4,%4};" ::"l"(s), "r"(x), "r"(y), "r"(z), "r"(u));
    int w;
    asm volatile("suq.width.b32 %0, [%1];" : "=r"(w) : "l"(s));
    o[u].z = w;
}
