// Every thread adds to one word. Repaired: warps and then blocks add up before one atomic.
extern "C" __global__ void mistake(const int* __restrict__ x, int* __restrict__ sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sum[0], 3 * x[i]);  // here
}

extern "C" __global__ void repaired(const int* __restrict__ x, int* __restrict__ sum, int n) {
    __shared__ int of_warp[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? 3 * x[i] : 0;
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
        for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
        if (threadIdx.x == 0) atomicAdd(&sum[0], v);
    }
}
