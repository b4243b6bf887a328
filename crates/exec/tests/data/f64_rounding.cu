// f64 arithmetic in all four rounding modes: out[op][lane] = op(a[lane], b[lane], c[lane]).
// Operations in the order add, mul, fma, div, rcp(a), sqrt(|a|); of each rn, rz, ru, rd.
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void f64_rounding(const double* a, const double* b, const double* c, double* out) {
    int lane = threadIdx.x;
    double x = a[lane], y = b[lane], z = c[lane];
    PUT(0, __dadd_rn(x, y));
    PUT(1, __dadd_rz(x, y));
    PUT(2, __dadd_ru(x, y));
    PUT(3, __dadd_rd(x, y));
    PUT(4, __dmul_rn(x, y));
    PUT(5, __dmul_rz(x, y));
    PUT(6, __dmul_ru(x, y));
    PUT(7, __dmul_rd(x, y));
    PUT(8, __fma_rn(x, y, z));
    PUT(9, __fma_rz(x, y, z));
    PUT(10, __fma_ru(x, y, z));
    PUT(11, __fma_rd(x, y, z));
    PUT(12, __ddiv_rn(x, y));
    PUT(13, __ddiv_rz(x, y));
    PUT(14, __ddiv_ru(x, y));
    PUT(15, __ddiv_rd(x, y));
    PUT(16, __drcp_rn(x));
    PUT(17, __drcp_rz(x));
    PUT(18, __drcp_ru(x));
    PUT(19, __drcp_rd(x));
    PUT(20, __dsqrt_rn(fabs(x)));
    PUT(21, __dsqrt_rz(fabs(x)));
    PUT(22, __dsqrt_ru(fabs(x)));
    PUT(23, __dsqrt_rd(fabs(x)));
}
