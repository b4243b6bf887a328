// The precise single-precision library: out[op][lane] = op(a[lane]) or op(a[lane], b[lane]), a positive.
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void libm_f32(const float* a, const float* b, float* out) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane];
    PUT(0, sinf(y));
    PUT(1, cosf(y));
    PUT(2, tanf(y));
    PUT(3, expf(y));
    PUT(4, exp2f(y));
    PUT(5, exp10f(y));
    PUT(6, expm1f(y));
    PUT(7, logf(x));
    PUT(8, log2f(x));
    PUT(9, log10f(x));
    PUT(10, log1pf(x));
    PUT(11, powf(x, y));
    PUT(12, sinhf(y));
    PUT(13, coshf(y));
    PUT(14, tanhf(y));
    PUT(15, atanf(y));
    PUT(16, atan2f(y, x));
    PUT(17, erff(y));
    PUT(18, cbrtf(y));
    PUT(19, hypotf(x, y));
    PUT(20, asinhf(y));
    PUT(21, rsqrtf(x));
}
