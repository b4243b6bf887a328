// bfloat16 arithmetic on bit patterns: out[op][lane] = bits of op(a[lane], b[lane]).
#include <cuda_bf16.h>
#define PUT(op, value) out[(op) * 32 + lane] = __bfloat16_as_ushort(value)

extern "C" __global__ void bf16_arith(const unsigned short* a, const unsigned short* b, unsigned short* out) {
    int lane = threadIdx.x;
    __nv_bfloat16 x = __ushort_as_bfloat16(a[lane]), y = __ushort_as_bfloat16(b[lane]);
    PUT(0, __hadd(x, y));
    PUT(1, __hsub(x, y));
    PUT(2, __hmul(x, y));
    PUT(3, __hfma(x, y, x));
    PUT(4, __hneg(x));
    PUT(5, __habs(x));
    PUT(6, __hmin(x, y));
    PUT(7, __hmax(x, y));
    PUT(8, __float2bfloat16_rn(__bfloat162float(x) * 1.003f));
    PUT(9, __float2bfloat16_rz(__bfloat162float(x) * 1.003f));
    __nv_bfloat162 p = __halves2bfloat162(x, y), q = __halves2bfloat162(y, x);
    __nv_bfloat162 fused = __hfma2(p, q, p);
    PUT(10, __low2bfloat16(fused));
    PUT(11, __high2bfloat16(fused));
}
