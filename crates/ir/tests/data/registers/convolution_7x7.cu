// 7 x 7 convolution with the filter in constant memory and a halo tile in shared memory.
__constant__ float filter[49];
extern "C" __global__ void convolution_7x7(const float* in, float* out, int width, int height) {
    __shared__ float tile[22][23];
    int x0 = blockIdx.x * 16 - 3, y0 = blockIdx.y * 16 - 3;
    for (int e = threadIdx.y * 16 + threadIdx.x; e < 22 * 22; e += 256) {
        int x = min(max(x0 + e % 22, 0), width - 1), y = min(max(y0 + e / 22, 0), height - 1);
        tile[e / 22][e % 22] = in[y * width + x];
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 7; ++dy)
#pragma unroll
        for (int dx = 0; dx < 7; ++dx) sum += filter[dy * 7 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    int x = x0 + 3 + threadIdx.x, y = y0 + 3 + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = sum;
}
