// C = A * B^T for square row-major matrices with 16 x 16 tiles in shared memory, with bank conflicts.
//
// Both tiles are loaded row by row, so the inner product reads tile_b[tx][k]: neighbouring threads are 16 words apart.
// With 16 banks (compute capability 1.x, one half-warp at a time) all 16 threads meet in one bank, a 16-way conflict.
// With 32 banks they meet in two, an 8-way conflict. abt_conflict_free differs only by one word of padding per row.
// n is a multiple of 16; the block is 16 x 16.

constexpr int TILE = 16;

extern "C" __global__ void abt_conflict(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        tile_a[ty][tx] = a[row * n + first + tx];
        tile_b[ty][tx] = b[(blockIdx.x * TILE + ty) * n + first + tx];
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum += tile_a[ty][k] * tile_b[tx][k];
        }
        __syncthreads();
    }
    c[row * n + col] = sum;
}
