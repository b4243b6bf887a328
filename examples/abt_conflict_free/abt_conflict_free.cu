// C = A * B^T for square row-major matrices with 16 x 16 tiles in shared memory, without bank conflicts.
//
// The same kernel as abt_conflict, except that a row of tile_b is 17 words long. The inner product reads tile_b[tx][k]:
// neighbouring threads are now 17 words apart and fall into different banks, both with 16 banks and with 32.
// n is a multiple of 16; the block is 16 x 16.

constexpr int TILE = 16;

extern "C" __global__ void abt_conflict_free(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE + 1];

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
