// The same with 128 x 128 block tiles and 8 x 8 elements per thread: close to 128 registers.
extern "C" __global__ void __launch_bounds__(256)
sgemm_8x8(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
    __shared__ float4 as[8][32];
    __shared__ float4 bs[8][32];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float acc[8][8] = {};
    for (int k0 = 0; k0 < k; k0 += 8) {
        int kk = threadIdx.x / 32, q = threadIdx.x % 32;
        as[kk][q] = *(const float4*)&a[(k0 + kk) * n + blockIdx.y * 128 + q * 4];
        bs[kk][q] = *(const float4*)&b[(k0 + kk) * n + blockIdx.x * 128 + q * 4];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            float4 a0 = as[j][ty * 2], a1 = as[j][ty * 2 + 1], b0 = bs[j][tx * 2], b1 = bs[j][tx * 2 + 1];
            float x[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float y[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int r = 0; r < 8; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s) acc[r][s] += x[r] * y[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) {
        float4* row = (float4*)&c[(blockIdx.y * 128 + ty * 8 + r) * n + blockIdx.x * 128 + tx * 8];
        row[0] = make_float4(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
        row[1] = make_float4(acc[r][4], acc[r][5], acc[r][6], acc[r][7]);
    }
}
