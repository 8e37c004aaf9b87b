// Second file of `texture`.
__device__ float sample(cudaTextureObject_t texture, float x, float y) {
    return tex2D<float>(texture, x, y);
}
__device__ void store(cudaSurfaceObject_t surface, int x, int y, float value) {
    surf2Dwrite(value, surface, x * 4, y);
}
