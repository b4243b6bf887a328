// Few warps, and each has one load on its way at a time. Repaired: eight.
extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ sums, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < m; ++k)
        sum += a[k * n + i];  // here
    sums[i] = sum;
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ sums, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 8
    for (int k = 0; k < m; ++k)
        sum += a[k * n + i];
    sums[i] = sum;
}
