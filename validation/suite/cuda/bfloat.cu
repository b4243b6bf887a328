// Arithmetic of bfloat16, which sm_80 has.

#include <cuda_bf16.h>

// Sums and products of bfloat16 that are rounded at each step.
extern "C" __global__ void __launch_bounds__(256) bfloat_polynomial(const __nv_bfloat162 *in, __nv_bfloat162 *out,
    int pairs)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    const __nv_bfloat162 x = in[i];
    __nv_bfloat162 y = __float2bfloat162_rn(0.25f);
    for (int term = 1; term <= 5; ++term) y = __hfma2(y, x, __float2bfloat162_rn(1.0f / term));
    out[i] = __hmax2(__hmul2(y, y), __hsub2(x, y));
}
