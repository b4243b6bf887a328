// Row softmax, one block of 256 threads per row.
__device__ float reduce(float v, bool maximum) {
    __shared__ float of_warp[8];
    for (int d = 16; d > 0; d /= 2) {
        float o = __shfl_xor_sync(~0u, v, d);
        v = maximum ? fmaxf(v, o) : v + o;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = of_warp[0];
    for (int w = 1; w < 8; ++w) v = maximum ? fmaxf(v, of_warp[w]) : v + of_warp[w];
    return v;
}
extern "C" __global__ void softmax(const float* in, float* out, int columns) {
    const float* row = in + (long)blockIdx.x * columns;
    float* result = out + (long)blockIdx.x * columns;
    float top = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, row[i]);
    top = reduce(top, true);
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 256) sum += expf(row[i] - top);
    sum = reduce(sum, false);
    for (int i = threadIdx.x; i < columns; i += 256) result[i] = expf(row[i] - top) / sum;
}
