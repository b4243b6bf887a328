// 128 values are kept in registers to be used much later, one after the other. Repaired: 16 at once.
template <int Live>
__device__ void sums(const float* __restrict__ a, float* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < 128; first += Live) {
        float v[Live];
#pragma unroll
        for (int k = 0; k < Live; ++k) v[k] = a[(first + k) * n + i];
#pragma unroll
        for (int k = 0; k < Live; ++k) sum = sum * 0.5f + sqrtf(v[k] * v[Live - 1 - k]);  // here
    }
    b[i] = sum;
}

extern "C" __global__ void mistake(const float* __restrict__ a, float* __restrict__ b, int n) {
    sums<128>(a, b, n);
}

extern "C" __global__ void repaired(const float* __restrict__ a, float* __restrict__ b, int n) {
    sums<16>(a, b, n);
}
