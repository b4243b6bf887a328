// Products of matrices, C = A B, on plain cores and with the fragments of `nvcuda::wmma`.
// Sides are multiples of 64, matrices row-major unless said.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// Tiles of 64 x 64 in shared memory, 4 x 4 results per thread.
extern "C" __global__ void __launch_bounds__(256) product_tiled(const float *a, const float *b, float *c, int n,
    int depth)
{
    __shared__ float tile_a[16][64 + 4];
    __shared__ __align__(16) float tile_b[16][64];
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k = 0; k < depth; k += 16) {
        const float4 part = *reinterpret_cast<const float4 *>(&a[(row + thread / 4) * depth + k + thread % 4 * 4]);
        tile_a[thread % 4 * 4 + 0][thread / 4] = part.x;
        tile_a[thread % 4 * 4 + 1][thread / 4] = part.y;
        tile_a[thread % 4 * 4 + 2][thread / 4] = part.z;
        tile_a[thread % 4 * 4 + 3][thread / 4] = part.w;
        *reinterpret_cast<float4 *>(&tile_b[ty][tx * 4]) =
            *reinterpret_cast<const float4 *>(&b[(k + ty) * n + column + tx * 4]);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            float left[4], right[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                left[j] = tile_a[i][ty * 4 + j];
                right[j] = tile_b[i][tx * 4 + j];
            }
#pragma unroll
            for (int y = 0; y < 4; ++y)
#pragma unroll
                for (int x = 0; x < 4; ++x) sum[y][x] = fmaf(left[y], right[x], sum[y][x]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < 4; ++y)
        *reinterpret_cast<float4 *>(&c[(row + ty * 4 + y) * n + column + tx * 4]) =
            make_float4(sum[y][0], sum[y][1], sum[y][2], sum[y][3]);
}

// Doubles, one result per thread.
extern "C" __global__ void __launch_bounds__(256) product_double(const double *a, const double *b, double *c, int n,
    int depth)
{
    __shared__ double tile_a[16][16], tile_b[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    double sum = 0;
    for (int k = 0; k < depth; k += 16) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * depth + k + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Fragments of halves: four warps make a tile of 64 x 64, each a quarter of it.
extern "C" __global__ void __launch_bounds__(128) product_wmma(const half *a, const half *b, float *c, int n, int depth)
{
    __shared__ __align__(32) half tile_a[64][32 + 8];
    __shared__ __align__(32) half tile_b[32][64 + 8];
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (auto &line : sum)
        for (auto &part : line) wmma::fill_fragment(part, 0.0f);
    for (int k = 0; k < depth; k += 32) {
        for (int i = threadIdx.x; i < 64 * 4; i += 128)
            *reinterpret_cast<uint4 *>(&tile_a[i / 4][i % 4 * 8]) =
                *reinterpret_cast<const uint4 *>(&a[(row + i / 4) * depth + k + i % 4 * 8]);
        for (int i = threadIdx.x; i < 32 * 8; i += 128)
            *reinterpret_cast<uint4 *>(&tile_b[i / 8][i % 8 * 8]) =
                *reinterpret_cast<const uint4 *>(&b[(k + i / 8) * n + column + i % 8 * 8]);
        __syncthreads();
        for (int step = 0; step < 32; step += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(left[i], &tile_a[warp / 2 * 32 + i * 16][step], 32 + 8);
                wmma::load_matrix_sync(right[i], &tile_b[step][warp % 2 * 32 + i * 16], 64 + 8);
            }
            for (int y = 0; y < 2; ++y)
                for (int x = 0; x < 2; ++x) wmma::mma_sync(sum[y][x], left[y], right[x], sum[y][x]);
        }
        __syncthreads();
    }
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x)
            wmma::store_matrix_sync(&c[(row + warp / 2 * 32 + y * 16) * n + column + warp % 2 * 32 + x * 16], sum[y][x],
                                    n, wmma::mem_row_major);
}

// Bytes in fragments of 32 x 8 x 16, straight from memory; B is column-major, one warp per fragment.
extern "C" __global__ void product_wmma_bytes(const signed char *a, const signed char *b, int *c, int n, int depth)
{
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8, row = blockIdx.y * 32;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int k = 0; k < depth; k += 16) {
        wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> right;
        wmma::load_matrix_sync(left, a + row * depth + k, depth);
        wmma::load_matrix_sync(right, b + column * depth + k, depth);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
