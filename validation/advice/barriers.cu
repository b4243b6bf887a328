// Warps exchange values among their own lanes and wait for the whole block. Repaired: they wait for themselves.
extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b, int rounds) {
    __shared__ float values[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, own = threadIdx.x, other = threadIdx.x ^ 1;
    float v = a[i];
    for (int k = 0; k < rounds; ++k) {
        values[own] = v;
        __syncthreads();  // here
        v = 0.5f * v + values[other];
        if (threadIdx.x / 32 == k % 8)
            for (int more = 0; more < 16; ++more) v = v * 0.99f + 0.01f;
        __syncthreads();  // here
    }
    b[i] = v;
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b, int rounds) {
    __shared__ float values[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, own = threadIdx.x, other = threadIdx.x ^ 1;
    float v = a[i];
    for (int k = 0; k < rounds; ++k) {
        values[own] = v;
        __syncwarp();
        v = 0.5f * v + values[other];
        if (threadIdx.x / 32 == k % 8)
            for (int more = 0; more < 16; ++more) v = v * 0.99f + 0.01f;
        __syncwarp();
    }
    b[i] = v;
}
