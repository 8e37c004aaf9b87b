// Texture and surface objects of all shapes.
__device__ cudaTextureObject_t deviceTex;
__constant__ cudaTextureObject_t texes[4];
__device__ __noinline__ float4 sample(cudaTextureObject_t t, float x, float y) {
    return tex2D<float4>(t, x, y);
}
__global__ void tk(float4 *o, cudaTextureObject_t t, cudaSurfaceObject_t s) {
    float4 v = sample(t, threadIdx.x, 2);
    o[threadIdx.x] = v;
    surf2Dwrite(v, s, threadIdx.x * 16, 1);
}
__global__ void tk2(float4 *o, int i) {
    o[0] = sample(texes[i], 1, 2);
    o[1] = tex3D<float4>(deviceTex, 1, 2, 3);
    o[2] = texCubemap<float4>(deviceTex, 1, 2, 3);
    o[3] = tex2DLayered<float4>(deviceTex, 1, 2, 3);
}
__global__ void tk3(unsigned *o, cudaSurfaceObject_t s) {
    surf3Dread(o, s, 4, 5, 6);
    surf2DLayeredwrite(*o, s, 1, 2, 3);
    o[1] = tex1Dfetch<unsigned>(deviceTex, 4);
}
void go(float4 *o) {
    tk<<<1, 1>>>(o, 0, 0);
    tk2<<<1, 1>>>(o, 0);
    tk3<<<1, 1>>>((unsigned *)o, 0);
}
