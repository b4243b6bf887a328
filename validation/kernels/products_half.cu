// Products of matrices in half precision with sums in single precision, by tensor cores through wmma.
//
// C (m x n) = A (row-major) * B (row-major), square of n rows, n a multiple of 64.

#include <mma.h>

using namespace nvcuda;

// 64 x 64 elements per block of four warps, 32 x 32 per warp; fragments come straight from global memory.
extern "C" __global__ void product_wmma_direct(const half* a, const half* b, float* c, int n) {
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * 64 + warp / 2 * 32, column = blockIdx.x * 64 + warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (auto& line : sum) {
        for (auto& one : line) {
            wmma::fill_fragment(one, 0.0f);
        }
    }
    for (int k = 0; k < n; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
        for (int i = 0; i < 2; ++i) {
            wmma::load_matrix_sync(left[i], a + (row + 16 * i) * n + k, n);
            wmma::load_matrix_sync(right[i], b + k * n + column + 16 * i, n);
        }
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 2; ++j) {
                wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
            }
        }
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(c + (row + 16 * i) * n + column + 16 * j, sum[i][j], n, wmma::mem_row_major);
        }
    }
}

// The same from shared memory: all four warps load tiles that are 32 deep, rows padded against bank conflicts.
extern "C" __global__ void product_wmma_shared(const half* a, const half* b, float* c, int n) {
    constexpr int TILE = 64, DEPTH = 32, PAD = 8;
    __shared__ __align__(32) half tile_a[TILE][DEPTH + PAD];
    __shared__ __align__(32) half tile_b[DEPTH][TILE + PAD];
    int warp = threadIdx.x / 32;
    int y = warp / 2 * 32, x = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (auto& line : sum) {
        for (auto& one : line) {
            wmma::fill_fragment(one, 0.0f);
        }
    }
    for (int first = 0; first < n; first += DEPTH) {
        // Eight halves, 16 bytes, at a time.
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int row = threadIdx.x / 4 + 32 * i, k = threadIdx.x % 4 * 8;
            *reinterpret_cast<uint4*>(&tile_a[row][k]) =
                *reinterpret_cast<const uint4*>(a + (blockIdx.y * TILE + row) * n + first + k);
            int depth = threadIdx.x / 8 + 16 * i, column = threadIdx.x % 8 * 8;
            *reinterpret_cast<uint4*>(&tile_b[depth][column]) =
                *reinterpret_cast<const uint4*>(b + (first + depth) * n + blockIdx.x * TILE + column);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(left[i], &tile_a[y + 16 * i][k], DEPTH + PAD);
                wmma::load_matrix_sync(right[i], &tile_b[k][x + 16 * i], TILE + PAD);
            }
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) {
                    wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
                }
            }
        }
        __syncthreads();
    }
    float* corner = c + (blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(corner + 16 * i * n + 16 * j, sum[i][j], n, wmma::mem_row_major);
        }
    }
}
