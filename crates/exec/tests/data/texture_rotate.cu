// Turns and scales an image by a bilinear filter: once repeated, by normalised coordinates, once with a border.
extern "C" __global__ void texture_rotate(float* repeated, float* bordered, cudaTextureObject_t repeats,
                                          cudaTextureObject_t ends, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = 0.75f * x - 0.625f * y + 3.3125f, v = 0.625f * x + 0.75f * y - 2.71875f;
    repeated[y * width + x] = tex2D<float>(repeats, u / 16, v / 16);
    bordered[y * width + x] = tex2D<float>(ends, u, v);
}
