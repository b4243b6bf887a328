// The approximate instructions: out[op][lane] = op(a[lane]), checked within the bounds that NVIDIA documents.
// a is positive; the last rows use b as the second operand.
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void approx(const float* a, const float* b, float* out) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane], r;
    PUT(0, __sinf(y));
    PUT(1, __cosf(y));
    PUT(2, __expf(y));
    PUT(3, __logf(x));
    PUT(4, __log2f(x));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));
    PUT(5, r);
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    PUT(6, r);
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    PUT(7, r);
    PUT(8, rsqrtf(x));
    PUT(9, __fdividef(y, x));
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(y));
    PUT(10, r);
    PUT(11, __powf(x, y));
    PUT(12, __tanf(y));
}
