// C = A * B for square row-major matrices of any size, with what a study varies as macros.
//
// A block of TILE x TILE / ROWS threads computes a tile of TILE x TILE elements, each thread ROWS of them below each other.
// Tiles of A and B lie in shared memory, those of B with a column more where PAD says so.

#ifndef TILE
#define TILE 16
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#ifndef PAD
#define PAD 0
#endif

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[TILE][TILE + PAD];
    __shared__ float tile_b[TILE][TILE];

    int tx = threadIdx.x;
    int col = blockIdx.x * TILE + tx;
    float sums[ROWS] = {};
    for (int first = 0; first < n; first += TILE) {
        for (int at = 0; at < ROWS; ++at) {
            int ty = threadIdx.y + at * (TILE / ROWS);
            int row = blockIdx.y * TILE + ty;
            tile_a[ty][tx] = row < n && first + tx < n ? a[row * n + first + tx] : 0.0f;
            tile_b[ty][tx] = first + ty < n && col < n ? b[(first + ty) * n + col] : 0.0f;
        }
        __syncthreads();

#pragma unroll UNROLL
        for (int k = 0; k < TILE; ++k) {
            float right = tile_b[k][tx];
            for (int at = 0; at < ROWS; ++at) {
                sums[at] += tile_a[threadIdx.y + at * (TILE / ROWS)][k] * right;
            }
        }
        __syncthreads();
    }
    for (int at = 0; at < ROWS; ++at) {
        int row = blockIdx.y * TILE + threadIdx.y + at * (TILE / ROWS);
        if (row < n && col < n) {
            c[row * n + col] = sums[at];
        }
    }
}
