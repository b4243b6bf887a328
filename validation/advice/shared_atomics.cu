// All lanes of a block count in eight words of shared memory. Repaired: a copy of the words for each lane. Before 8.0: later ones count lanes on one word together.
extern "C" __global__ void mistake(const unsigned* __restrict__ x, int* __restrict__ bins, int n) {
    __shared__ int count[8];
    if (threadIdx.x < 8) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned v = x[i];
#pragma unroll
        for (int bits = 0; bits < 32; bits += 4) atomicAdd(&count[v >> bits & 7], 1);  // here
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}

extern "C" __global__ void repaired(const unsigned* __restrict__ x, int* __restrict__ bins, int n) {
    __shared__ int count[8][32];
    count[threadIdx.x / 32][threadIdx.x % 32] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned v = x[i];
#pragma unroll
        for (int bits = 0; bits < 32; bits += 4) atomicAdd(&count[v >> bits & 7][threadIdx.x % 32], 1);
    }
    __syncthreads();
    int v = count[threadIdx.x / 32][threadIdx.x % 32];
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
    if (threadIdx.x % 32 == 0) atomicAdd(&bins[threadIdx.x / 32], v);
}
