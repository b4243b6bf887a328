// What sm_70 brought: tensor cores, and lanes that go on by themselves.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// Halves summed up in halves: each warp makes 32 x 16 results; A is column-major.
extern "C" __global__ void wmma_halves(const half *a, const half *b, half *c, int m, int n, int depth)
{
    const int row = blockIdx.y * 32, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum[2];
    wmma::fill_fragment(sum[0], __float2half(0.0f));
    wmma::fill_fragment(sum[1], __float2half(0.0f));
    for (int k = 0; k < depth; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> left[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
        wmma::load_matrix_sync(right, b + column * depth + k, depth);
        for (int i = 0; i < 2; ++i) {
            wmma::load_matrix_sync(left[i], a + k * m + row + i * 16, m);
            wmma::mma_sync(sum[i], left[i], right, sum[i]);
        }
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < sum[i].num_elements; ++j) sum[i].x[j] = __hmul(sum[i].x[j], __float2half(0.5f));
        wmma::store_matrix_sync(c + (row + i * 16) * n + column, sum[i], n, wmma::mem_row_major);
    }
}

// Lanes of one warp that hand a token around: each waits for the one before.
extern "C" __global__ void lane_relay(const int *in, int *out)
{
    __shared__ volatile int turn[4];
    __shared__ volatile int token[4];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, at = blockIdx.x * 128 + threadIdx.x;
    if (lane == 0) {
        turn[warp] = 0;
        token[warp] = 1;
    }
    __syncwarp();
    while (turn[warp] != lane) {
    }
    token[warp] = token[warp] * 3 + in[at];
    out[at] = token[warp];
    __threadfence_block();
    turn[warp] = lane + 1;
}

// Bins behind locks, taken by all lanes of a warp at once.
extern "C" __global__ void locked_bins(const int *keys, const float *weights, int *locks, float *bins, int *counts,
    int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int key = keys[i];
    while (atomicCAS(&locks[key], 0, 1) != 0) {
    }
    __threadfence();
    volatile float *bin = &bins[key];
    volatile int *count = &counts[key];
    *bin = *bin + weights[i];
    *count = *count + 1;
    __threadfence();
    atomicExch(&locks[key], 0);
}
