// Flush to zero and saturation: out[op][lane] = op(a[lane], b[lane]). Subnormal inputs and results become zeros of the
// same sign with .ftz; .sat clamps to [0, 1] and turns NaN into 0.
#define PUT(op, text)                                                                  \
    do {                                                                               \
        float result;                                                                  \
        asm(text : "=f"(result) : "f"(x), "f"(y));                                     \
        out[(op) * 32 + lane] = result;                                                \
    } while (0)

extern "C" __global__ void f32_ftz(const float* a, const float* b, float* out) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane];
    PUT(0, "add.ftz.f32 %0, %1, %2;");
    PUT(1, "sub.ftz.f32 %0, %1, %2;");
    PUT(2, "mul.ftz.f32 %0, %1, %2;");
    PUT(3, "fma.rn.ftz.f32 %0, %1, %2, %2;");
    PUT(4, "add.sat.f32 %0, %1, %2;");
    PUT(5, "mul.ftz.sat.f32 %0, %1, %2;");
    PUT(6, "fma.rn.sat.f32 %0, %1, %2, %1;");
    PUT(7, "min.ftz.f32 %0, %1, %2;");
    PUT(8, "max.ftz.f32 %0, %1, %2;");
    PUT(9, "abs.ftz.f32 %0, %1;  // %2");
    PUT(10, "neg.ftz.f32 %0, %1;  // %2");
    PUT(11, "cvt.rni.ftz.f32.f32 %0, %1;  // %2");
    PUT(12, "cvt.sat.f32.f32 %0, %1;  // %2");
    PUT(13, "set.lt.ftz.f32.f32 %0, %1, %2;");
}
