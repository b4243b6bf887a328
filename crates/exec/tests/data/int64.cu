// 64-bit integer arithmetic: out[op][lane] = op(a[lane], b[lane]); b is never zero, shift counts are b & 63.
#define PUT(op, value) out[(op) * 32 + lane] = (unsigned long long)(value)

extern "C" __global__ void int64(const long long* a, const long long* b, unsigned long long* out) {
    int lane = threadIdx.x;
    long long x = a[lane], y = b[lane];
    unsigned long long ux = x, uy = y;
    int count = (int)(uy & 63);
    PUT(0, ux + uy);
    PUT(1, ux - uy);
    PUT(2, ux * uy);
    PUT(3, __mul64hi(x, y));
    PUT(4, __umul64hi(ux, uy));
    PUT(5, x / y);
    PUT(6, x % y);
    PUT(7, ux / uy);
    PUT(8, ux % uy);
    PUT(9, ux << count);
    PUT(10, ux >> count);
    PUT(11, x >> count);
    PUT(12, min(x, y));
    PUT(13, max(ux, uy));
    PUT(14, (long long)(int)x * (int)y);
    PUT(15, (unsigned long long)(unsigned)ux * (unsigned)uy);
    PUT(16, (long long)(int)x * (int)y + 99);
    PUT(17, __popcll(ux));
    PUT(18, __clzll(x));
    PUT(19, __brevll(ux));
    PUT(20, __ffsll(x));
    PUT(21, ux & uy);
    PUT(22, ux | uy);
    PUT(23, ux ^ uy);
    PUT(24, ~ux);
    PUT(25, x < y);
    PUT(26, ux < uy);
    PUT(27, llabs(x));
}
