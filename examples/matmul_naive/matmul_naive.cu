// C = A * B for square row-major matrices, one thread per element of C, straight from global memory.
//
// Each thread walks a row of A (the same address for the threads of a row of the block, a broadcast) and a column of B
// (neighbouring threads read neighbouring words, so the access is coalesced). Each element of A and B is fetched n / 16
// times more often than in matmul_tiled. n is a multiple of 16; the block is 16 x 16.

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        sum += a[row * n + k] * b[k * n + col];
    }
    c[row * n + col] = sum;
}
