// Neighbouring lanes go four ways. Repaired: each quarter of a block goes one of them.
template <class Way>
__device__ float work(float v, Way way) {
    switch (way % 4) {  // here
    case 0: for (int k = 0; k < 64; ++k) v = v * 1.01f + 0.5f; break;
    case 1: for (int k = 0; k < 64; ++k) v = v * v - 0.25f; break;
    case 2: for (int k = 0; k < 64; ++k) v = sqrtf(v * v + 1.0f); break;
    default: for (int k = 0; k < 64; ++k) v = v / (1.0f + v * v); break;
    }
    return v;
}

extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = work(a[i], threadIdx.x);
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = work(a[i], 4 * threadIdx.x / blockDim.x);
}
