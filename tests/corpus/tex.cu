// Texture and surface objects.
__global__ void sample(cudaTextureObject_t t, cudaSurfaceObject_t s, float *out, int w) {
    int x = threadIdx.x, y = blockIdx.y;
    float v = tex2D<float>(t, x + 0.5f, y + 0.5f) + tex1Dfetch<float>(t, x);
    surf2Dwrite(v, s, x * 4, y);
    out[y * w + x] = v;
}
