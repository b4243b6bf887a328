// f32 arithmetic in all four rounding modes: out[op][lane] = op(a[lane], b[lane], c[lane]).
// Operations in the order add, mul, fma, div, rcp(a), sqrt(|a|); of each rn, rz, ru, rd.
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void f32_rounding(const float* a, const float* b, const float* c, float* out) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane], z = c[lane];
    PUT(0, __fadd_rn(x, y));
    PUT(1, __fadd_rz(x, y));
    PUT(2, __fadd_ru(x, y));
    PUT(3, __fadd_rd(x, y));
    PUT(4, __fmul_rn(x, y));
    PUT(5, __fmul_rz(x, y));
    PUT(6, __fmul_ru(x, y));
    PUT(7, __fmul_rd(x, y));
    PUT(8, __fmaf_rn(x, y, z));
    PUT(9, __fmaf_rz(x, y, z));
    PUT(10, __fmaf_ru(x, y, z));
    PUT(11, __fmaf_rd(x, y, z));
    PUT(12, __fdiv_rn(x, y));
    PUT(13, __fdiv_rz(x, y));
    PUT(14, __fdiv_ru(x, y));
    PUT(15, __fdiv_rd(x, y));
    PUT(16, __frcp_rn(x));
    PUT(17, __frcp_rz(x));
    PUT(18, __frcp_ru(x));
    PUT(19, __frcp_rd(x));
    PUT(20, __fsqrt_rn(fabsf(x)));
    PUT(21, __fsqrt_rz(fabsf(x)));
    PUT(22, __fsqrt_ru(fabsf(x)));
    PUT(23, __fsqrt_rd(fabsf(x)));
}
