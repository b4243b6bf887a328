// Product of a sparse matrix (rows of column indices and values) with a vector that is fetched from a texture on linear
// memory; a column beyond the vector reads zero.
extern "C" __global__ void texture_spmv(float* y, const int* row, const int* column, const float* value,
                                        cudaTextureObject_t x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = row[i]; k < row[i + 1]; k++) sum += value[k] * tex1Dfetch<float>(x, column[k]);
    y[i] = sum;
}
