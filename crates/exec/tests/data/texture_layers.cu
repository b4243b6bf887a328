// Layers, planes and levels: a filtered fetch of each layer of an array, of a volume, and of a level between two of a
// mipmap; and a store to a layer of a surface.
extern "C" __global__ void texture_layers(float* out, cudaTextureObject_t layers, cudaTextureObject_t volume,
                                          cudaTextureObject_t levels, cudaSurfaceObject_t surface) {
    int t = threadIdx.x, layer = blockIdx.x;
    float x = 0.25f * t + 0.5f;
    float2 flat = tex2DLayered<float2>(layers, x, 1.25f, layer);
    float deep = tex3D<float>(volume, x, 1.5f, 0.75f + layer);
    float level = tex2DLod<float>(levels, 0.5f, 0.5f, 0.5f * t);
    out[32 * layer + t] = flat.x + 1000 * flat.y + deep / 4096 + 1000000 * level;
    if (t < 8) surf2DLayeredwrite(flat.y, surface, 4 * t, 1, layer);
}
