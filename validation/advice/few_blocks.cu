// A loop over the grid that is launched with 8 blocks. Repaired: the launch alone, with as many blocks as there is work.
extern "C" __global__ void mistake(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)  // here
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void repaired(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}
