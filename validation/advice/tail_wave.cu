// Blocks of 1024 threads of which a few more are launched than fit at once: the last wave is almost empty. Repaired: the
// launch alone, with smaller blocks.
__device__ float iterate(float v, int rounds) {
    float w = v + 1.0f, u = v - 1.0f, t = v * 0.5f;
    for (int k = 0; k < rounds; ++k) {
        v = v * 0.999f + 0.5f;
        w = w * 0.998f + 0.25f;
        u = u * 0.997f + 0.125f;
        t = t * 0.996f + 0.0625f;
    }
    return v + w + u + t;
}

extern "C" __global__ void mistake(const float* __restrict__ x, float* __restrict__ y, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // here
    y[i] = iterate(x[i], rounds);
}

extern "C" __global__ void repaired(const float* __restrict__ x, float* __restrict__ y, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = iterate(x[i], rounds);
}
