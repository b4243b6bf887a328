// Half-precision arithmetic on bit patterns: out[op][lane] = bits of op(a[lane], b[lane]).
#include <cuda_fp16.h>
#define PUT(op, value) out[(op) * 32 + lane] = __half_as_ushort(value)
#define RAW(op, value) out[(op) * 32 + lane] = (unsigned short)(value)

extern "C" __global__ void f16_arith(const unsigned short* a, const unsigned short* b, unsigned short* out) {
    int lane = threadIdx.x;
    __half x = __ushort_as_half(a[lane]), y = __ushort_as_half(b[lane]);
    PUT(0, __hadd(x, y));
    PUT(1, __hsub(x, y));
    PUT(2, __hmul(x, y));
    PUT(3, __hfma(x, y, x));
    PUT(4, __hneg(x));
    PUT(5, __habs(x));
    PUT(6, __hadd_sat(x, y));
    PUT(7, __hfma_sat(x, y, y));
    RAW(8, __heq(x, y));
    RAW(9, __hlt(x, y));
    RAW(10, __hgeu(x, y));
    RAW(11, __hisnan(x));
    // The packed forms: the low halves hold (a, b), the high halves (b, a).
    __half2 p = __halves2half2(x, y), q = __halves2half2(y, x);
    __half2 fused = __hfma2(p, q, p);
    PUT(12, __low2half(fused));
    PUT(13, __high2half(fused));
    PUT(14, __high2half(__hmul2(p, p)));
    RAW(15, __half2int_rz(x));
    RAW(16, __half2int_rn(x));
    PUT(17, __int2half_rn((int)a[lane] - 30000));
    PUT(18, __float2half_rn(__half2float(x) * 1.001f));
    PUT(19, __float2half_rz(__half2float(x) * 1.001f));
    PUT(20, __float2half_ru(__half2float(x) * 1.001f));
    PUT(21, __float2half_rd(__half2float(x) * 1.001f));
    PUT(22, __double2half((double)__half2float(x) / 3.0));
}
