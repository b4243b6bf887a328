// Constants without an f make the arithmetic double. Repaired: with it.
extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < 16; ++k)
        v = 0.999 * v + 0.25;  // here
    b[i] = v;
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < 16; ++k)
        v = 0.999f * v + 0.25f;
    b[i] = v;
}
