// Exact manipulations: fmod, remainder, ldexp, frexp, modf, scalbn, ilogb, nextafter, bit casts.
#define PUT(op, value) out[(op) * 32 + lane] = (value)
#define INT(op, value) parts[(op) * 32 + lane] = (value)

extern "C" __global__ void float_parts(const float* a, const float* b, float* out, int* parts) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane], whole;
    int exponent;
    PUT(0, fmodf(x, y));
    PUT(1, remainderf(x, y));
    PUT(2, ldexpf(x, lane - 16));
    PUT(3, frexpf(x, &exponent));
    PUT(4, modff(x, &whole));
    PUT(5, whole);
    PUT(6, nextafterf(x, y));
    PUT(7, roundf(x));
    PUT(8, fdimf(x, y));
    INT(0, exponent);
    INT(1, ilogbf(x));
    INT(2, __float_as_int(x));
    INT(3, __double2hiint((double)y));
}
