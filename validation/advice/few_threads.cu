// Blocks of one warp: an SM holds too few of them to hide the latency of the gather. Repaired: the launch alone.
extern "C" __global__ void mistake(const int* __restrict__ index, const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // here
    if (i < n) y[i] = x[index[i]];
}

extern "C" __global__ void repaired(const int* __restrict__ index, const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}
