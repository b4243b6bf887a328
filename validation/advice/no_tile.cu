// A matrix product that loads every element anew. Repaired: tiles in shared memory.
extern "C" __global__ void mistake(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += a[y * n + k] * b[k * n + x];  // here
    c[y * n + x] = sum;
}

extern "C" __global__ void repaired(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float of_a[32][32], of_b[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 32) {
        of_a[threadIdx.y][threadIdx.x] = a[y * n + first + threadIdx.x];
        of_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
