// Loops of neighbouring lanes end after very different numbers of rounds. Repaired: work of one length lies side by side.
__device__ float iterate(float v, int rounds) {
    for (int k = 0; k < rounds; ++k)  // here
        v = v * 0.999f + 0.5f;
    return v;
}

extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = iterate(a[i], 16 * (threadIdx.x % 32));
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = iterate(a[i], 16 * (threadIdx.x / (blockDim.x / 32)));
}
