// Edge values of the approximate instructions: out[op][lane] = op(a[lane]) for zeros, infinities, NaN and subnormals.
#define PUT(op, text)                                                  \
    do {                                                               \
        float result;                                                  \
        asm(text " %0, %1;" : "=f"(result) : "f"(x));                  \
        out[(op) * 16 + lane] = result;                                \
    } while (0)

extern "C" __global__ void approx_special(const float* a, float* out) {
    int lane = threadIdx.x;
    float x = a[lane];
    PUT(0, "sin.approx.ftz.f32");
    PUT(1, "cos.approx.ftz.f32");
    PUT(2, "ex2.approx.f32");
    PUT(3, "ex2.approx.ftz.f32");
    PUT(4, "lg2.approx.f32");
    PUT(5, "lg2.approx.ftz.f32");
    PUT(6, "rcp.approx.f32");
    PUT(7, "rcp.approx.ftz.f32");
    PUT(8, "rsqrt.approx.f32");
    PUT(9, "rsqrt.approx.ftz.f32");
    PUT(10, "sqrt.approx.f32");
    PUT(11, "sqrt.approx.ftz.f32");
}
