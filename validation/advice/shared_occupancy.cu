// 44 KB of shared memory for a block of 64 threads. Repaired: as much as it needs.
extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b) {
    __shared__ float reversed[11000];  // here
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    reversed[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = reversed[blockDim.x - 1 - threadIdx.x] * 2.0f;
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b) {
    __shared__ float reversed[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    reversed[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = reversed[blockDim.x - 1 - threadIdx.x] * 2.0f;
}
