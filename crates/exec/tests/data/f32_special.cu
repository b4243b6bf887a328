// f32 with zeros, infinities, NaN and subnormals. values[op][lane] are results, flags[op][lane] are 0 or 1.
#define PUT(op, value) values[(op) * 64 + lane] = (value)
#define FLAG(op, value) flags[(op) * 64 + lane] = (value) ? 1u : 0u
#define COMPARE(op, how)                                                                                     \
    do {                                                                                                     \
        unsigned result;                                                                                     \
        asm("{\n\t.reg .pred p;\n\tsetp." how ".f32 p, %1, %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"               \
            : "=r"(result)                                                                                   \
            : "f"(x), "f"(y));                                                                               \
        FLAG(op, result);                                                                                    \
    } while (0)
#define CLASS(op, how)                                                                                       \
    do {                                                                                                     \
        unsigned result;                                                                                     \
        asm("{\n\t.reg .pred p;\n\ttestp." how ".f32 p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}"                  \
            : "=r"(result)                                                                                   \
            : "f"(x));                                                                                       \
        FLAG(op, result);                                                                                    \
    } while (0)

extern "C" __global__ void f32_special(const float* a, const float* b, float* values, unsigned* flags) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane];
    PUT(0, x + y);
    PUT(1, x - y);
    PUT(2, x * y);
    PUT(3, x / y);
    PUT(4, __fmaf_rn(x, y, x));
    PUT(5, fminf(x, y));
    PUT(6, fmaxf(x, y));
    PUT(7, sqrtf(x));
    PUT(8, copysignf(x, y));
    PUT(9, fabsf(x));
    PUT(10, -x);
    PUT(11, __saturatef(x + 0.25f));
    COMPARE(0, "eq");
    COMPARE(1, "ne");
    COMPARE(2, "lt");
    COMPARE(3, "le");
    COMPARE(4, "gt");
    COMPARE(5, "ge");
    COMPARE(6, "equ");
    COMPARE(7, "neu");
    COMPARE(8, "ltu");
    COMPARE(9, "leu");
    COMPARE(10, "gtu");
    COMPARE(11, "geu");
    COMPARE(12, "num");
    COMPARE(13, "nan");
    CLASS(14, "finite");
    CLASS(15, "infinite");
    CLASS(16, "number");
    CLASS(17, "notanumber");
    CLASS(18, "normal");
    CLASS(19, "subnormal");
    FLAG(20, signbit(x));
}
