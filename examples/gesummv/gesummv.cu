// y = alpha * A * x + beta * B * x for row-major matrices, one row per thread.
//
// Neighbouring threads read words that are a row apart, so that a request of a warp touches 32 lines, and each line
// serves the next 31 steps of the loop as well: if it is still in the cache. A warp alone needs some 8 KB for its lines of
// A and B; many warps at a time drive each other's lines out of a small L1. The loop is kept rolled, so that the kernel
// takes few registers and an SM is full of warps.

extern "C" __global__ void gesummv(const float* a, const float* b, const float* x, float* y, float alpha, float beta,
                                   int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum_a = 0.0f;
    float sum_b = 0.0f;
#pragma unroll 1
    for (int j = 0; j < columns; ++j) {
        sum_a += a[row * columns + j] * x[j];
        sum_b += b[row * columns + j] * x[j];
    }
    y[row] = alpha * sum_a + beta * sum_b;
}
