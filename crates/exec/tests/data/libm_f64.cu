// The double-precision library: out[op][lane] = op(a[lane]) or op(a[lane], b[lane]), a positive.
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void libm_f64(const double* a, const double* b, double* out) {
    int lane = threadIdx.x;
    double x = a[lane], y = b[lane];
    PUT(0, sin(y));
    PUT(1, cos(y));
    PUT(2, tan(y));
    PUT(3, exp(y));
    PUT(4, log(x));
    PUT(5, pow(x, y));
    PUT(6, atan(y));
    PUT(7, tanh(y));
    PUT(8, cbrt(y));
    PUT(9, rsqrt(x));
    PUT(10, y / x);
    PUT(11, sqrt(x));
    PUT(12, erf(y));
    PUT(13, log1p(x));
    PUT(14, sin(y * 1e12));
}
