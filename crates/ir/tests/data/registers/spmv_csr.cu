// Sparse matrix times vector, CSR, one warp per row.
extern "C" __global__ void spmv_csr(const int* row_start, const int* column, const float* value, const float* x, float* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = row_start[row] + lane; i < row_start[row + 1]; i += 32) sum += value[i] * x[column[i]];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
