// 96 values are loaded early and kept while a chain of loads is followed. Repaired: they are loaded when they are needed.
extern "C" __global__ void mistake(const float* __restrict__ a, const int* __restrict__ next, float* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
    float v[96], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 96; ++k) {
        v[k] = a[k * n + i];  // here
        asm volatile("" : "+f"(v[k]));
    }
    for (int step = 0; step < 64; ++step) at = next[at];
#pragma unroll
    for (int k = 0; k < 96; ++k) sum += v[k];
    b[i] = sum + at;
}

extern "C" __global__ void repaired(const float* __restrict__ a, const int* __restrict__ next, float* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
    float sum = 0.0f;
    for (int step = 0; step < 64; ++step) at = next[at];
#pragma unroll 8
    for (int k = 0; k < 96; ++k) sum += a[k * n + i];
    b[i] = sum + at;
}
