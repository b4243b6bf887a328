// C = A * B for square row-major matrices with 16 x 16 tiles in shared memory.
//
// The block loads one tile of A and one of B, each thread one element of both, and all its threads then use every loaded
// element 16 times. Global traffic falls by 16 against matmul_naive; two barriers per tile keep the tiles consistent.
// In the inner product tile_a[ty][k] is a broadcast and tile_b[k][tx] touches consecutive banks: no bank conflicts.
// n is a multiple of 16; the block is 16 x 16.

constexpr int TILE = 16;

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        tile_a[ty][tx] = a[row * n + first + tx];
        tile_b[ty][tx] = b[(first + ty) * n + col];
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum += tile_a[ty][k] * tile_b[k][tx];
        }
        __syncthreads();
    }
    c[row * n + col] = sum;
}
