// Textures and surfaces.

#include <cuda_runtime.h>

// An image turned by an angle about its middle, between texels.
extern "C" __global__ void texture_turn(cudaTextureObject_t image, float *out, int n, float cosine, float sine)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const float u = x + 0.5f - n / 2, v = y + 0.5f - n / 2;
    out[y * n + x] = tex2D<float>(image, cosine * u - sine * v + n / 2, sine * u + cosine * v + n / 2);
}

// Four channels of bytes as floats, mirrored beyond the edges, with coordinates from 0 to 1.
extern "C" __global__ void texture_channels(cudaTextureObject_t image, float4 *out, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * n + x] = tex2D<float4>(image, (x + 0.5f) / n * 2 - 0.5f, (y + 0.5f) / n * 2 - 0.5f);
}

// A volume added up along rays that are parallel to z.
extern "C" __global__ void texture_volume(cudaTextureObject_t volume, float *out, int n, int depth)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int z = 0; z < depth; ++z) sum += tex3D<float>(volume, x + 0.5f, y + 0.5f, z + 0.25f);
    out[y * n + x] = sum;
}

// Layers of words, each shifted by its number, added up; and four texels around a corner by `gather`.
extern "C" __global__ void texture_layers(cudaTextureObject_t layers, cudaTextureObject_t image, int *out,
    float *gathered, int n, int count)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int sum = 0;
    for (int layer = 0; layer < count; ++layer) sum += (layer + 1) * tex2DLayered<int>(layers, x + layer, y, layer);
    out[y * n + x] = sum;
    const float4 four = tex2Dgather<float4>(image, x + 1.0f, y + 1.0f, 0);
    gathered[y * n + x] = four.x + 2 * four.y + 4 * four.z + 8 * four.w;
}

// Products of a sparse matrix and a vector that is read through a texture.
extern "C" __global__ void texture_rows(const int *starts, const int *columns, const float *values,
    cudaTextureObject_t vector, float *out, int rows)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * tex1Dfetch<float>(vector,
        columns[i]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) out[row] = sum;
}

// Sobel's edges from a surface into another one.
extern "C" __global__ void surface_edges(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    auto at = [&](int dx, int dy) {
        return static_cast<int>(surf2Dread<unsigned char>(in, min(max(x + dx, 0), n - 1), min(max(y + dy, 0), n - 1)));
    };
    const int across = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    const int down = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    surf2Dwrite<unsigned char>(min((abs(across) + abs(down)) / 4, 255), out, x, y);
}
