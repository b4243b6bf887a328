// Each thread adds up a row. Repaired: the matrix is transposed, so that lanes read neighbours.
extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ sums, int n, int m) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0.0f;
    for (int column = 0; column < m; ++column)
        sum += a[row * m + column];  // here
    sums[row] = sum;
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ sums, int n, int m) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0.0f;
    for (int column = 0; column < m; ++column)
        sum += a[column * n + row];
    sums[row] = sum;
}
