// A long chain of multiply-adds that each wait for the one before. Repaired: eight shorter chains.
extern "C" __global__ void mistake(float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0.00001f * i, sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < n; ++k)
        sum = sum * x + 1.0f;  // here
    y[i] = sum;
}

extern "C" __global__ void repaired(float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0.00001f * i, x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, sums[8] = {};
#pragma unroll 1
    for (int k = 0; k < n; k += 32)
#pragma unroll
        for (int round = 0; round < 4; ++round)
#pragma unroll
            for (int chain = 0; chain < 8; ++chain) sums[chain] = sums[chain] * x8 + 1.0f;
    float sum = 0.0f;
#pragma unroll
    for (int chain = 0; chain < 8; ++chain) sum = sum * x + sums[chain];
    y[i] = sum;
}
