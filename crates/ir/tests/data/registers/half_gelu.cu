// GELU on pairs of half-precision values, computed in f32 with tanh.
#include <cuda_fp16.h>
extern "C" __global__ void half_gelu(const __half2* in, __half2* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 v = __half22float2(in[i]);
    float a = 0.5f * v.x * (1 + tanhf(0.79788456f * (v.x + 0.044715f * v.x * v.x * v.x)));
    float b = 0.5f * v.y * (1 + tanhf(0.79788456f * (v.y + 0.044715f * v.y * v.y * v.y)));
    out[i] = __floats2half2_rn(a, b);
}
