// A long chain of multiply-adds that each wait for the one before. Repaired: four shorter chains.
extern "C" __global__ void mistake(const float* __restrict__ c, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0.001f * i, sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < n; ++k)
        sum = sum * x + c[k];  // here
    y[i] = sum;
}

extern "C" __global__ void repaired(const float* __restrict__ c, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0.001f * i, x2 = x * x, x4 = x2 * x2, s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int k = 0; k < n; k += 4) {
        s0 = s0 * x4 + c[k];
        s1 = s1 * x4 + c[k + 1];
        s2 = s2 * x4 + c[k + 2];
        s3 = s3 * x4 + c[k + 3];
    }
    y[i] = ((s0 * x + s1) * x + s2) * x + s3;
}
