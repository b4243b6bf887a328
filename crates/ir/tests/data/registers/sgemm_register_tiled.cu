// C = A * B with 64 x 64 block tiles and 4 x 4 elements per thread held in registers; sizes are multiples of 64.
extern "C" __global__ void __launch_bounds__(256)
sgemm_register_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
    __shared__ float as[16][64];
    __shared__ float bs[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int e = threadIdx.x + i * 256;
            as[e % 16][e / 16] = a[(blockIdx.y * 64 + e / 16) * k + k0 + e % 16];
            bs[e / 64][e % 64] = b[(k0 + e / 64) * n + blockIdx.x * 64 + e % 64];
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 16; ++kk) {
            float x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) { x[i] = as[kk][ty * 4 + i]; y[i] = bs[kk][tx * 4 + i]; }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) c[(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = acc[i][j];
}
