// 32-bit integer arithmetic: out[op][lane] = op(a[lane], b[lane]); b is never zero.
#define PUT(op, value) out[(op) * 32 + lane] = (unsigned)(value)

extern "C" __global__ void int32(const int* a, const int* b, unsigned* out) {
    int lane = threadIdx.x;
    int x = a[lane], y = b[lane];
    unsigned ux = x, uy = y;
    PUT(0, ux + uy);
    PUT(1, ux - uy);
    PUT(2, ux * uy);
    PUT(3, __mulhi(x, y));
    PUT(4, __umulhi(ux, uy));
    PUT(5, x / y);
    PUT(6, x % y);
    PUT(7, ux / uy);
    PUT(8, ux % uy);
    PUT(9, min(x, y));
    PUT(10, max(x, y));
    PUT(11, min(ux, uy));
    PUT(12, max(ux, uy));
    PUT(13, abs(x));
    PUT(14, ux * uy + 12345u);
    PUT(15, __sad(x, y, 7u));
    PUT(16, __usad(ux, uy, 7u));
    PUT(17, __mul24(x, y));
    PUT(18, __umul24(ux, uy));
    PUT(19, __hadd(x, y));
    PUT(20, __rhadd(x, y));
    PUT(21, x / 7);
    PUT(22, x % 10);
    PUT(23, ux / 1000u);
    PUT(24, x / 16);
    PUT(25, -ux);
}
