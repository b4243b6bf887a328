// Exact divisions where a few bits less would do. Repaired: approximate ones.
extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < 64; ++k)
        v = v / (1.0f + v * v);  // here
    b[i] = v;
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < 64; ++k)
        v = __fdividef(v, 1.0f + v * v);
    b[i] = v;
}
