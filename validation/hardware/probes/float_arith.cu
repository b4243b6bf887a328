// Arithmetic of one thread in f32 and f64: NaN with payloads, denormals, rounding, clamping. Results [row][thread].
#include "numbers.cuh"

#define SETUP(T, Kind, RANGE)                                                                                          \
    uint32_t index = thread_index(), count = thread_count();                                                           \
    T x = Kind::operand<RANGE, 4096>(index), y = Kind::partner<1, 4096>(x, index);                                     \
    T z = Kind::partner<2, 4096>(x, index);                                                                            \
    in[index] = x, in[index + count] = y, in[index + 2 * count] = z

#define PUT32(text)                                                                                                    \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        asm volatile(text : "=r"(d) : "r"(x), "r"(y), "r"(z));                                                         \
        out[index] = d, out += count;                                                                                  \
    }
#define PUT64(text)                                                                                                    \
    {                                                                                                                  \
        uint64_t d;                                                                                                    \
        asm volatile(text : "=l"(d) : "l"(x), "l"(y), "l"(z));                                                         \
        out[index] = d, out += count;                                                                                  \
    }
#define ROUNDINGS(PUT, op, type, operands)                                                                             \
    PUT(op ".rn" type operands) PUT(op ".rz" type operands) PUT(op ".rm" type operands) PUT(op ".rp" type operands)
#define TWO " %0, %1, %2;"
#define THREE " %0, %1, %2, %3;"

#define KERNEL32(name, ...)                                                                                            \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        SETUP(uint32_t, Single, 8);                                                                                    \
        __VA_ARGS__                                                                                                    \
    }
#define KERNEL64(name, ...)                                                                                            \
    extern "C" __global__ void name(uint64_t* out, uint64_t* in) {                                                     \
        SETUP(uint64_t, Double, 8);                                                                                    \
        __VA_ARGS__                                                                                                    \
    }

KERNEL32(add_f32, ROUNDINGS(PUT32, "add", ".f32", TWO) ROUNDINGS(PUT32, "add", ".ftz.f32", TWO)
         PUT32("add.sat.f32" TWO) PUT32("sub.f32" TWO) PUT32("sub.ftz.sat.f32" TWO))
KERNEL32(mul_f32, ROUNDINGS(PUT32, "mul", ".f32", TWO) ROUNDINGS(PUT32, "mul", ".ftz.f32", TWO)
         PUT32("mul.sat.f32" TWO) PUT32("mul.ftz.sat.f32" TWO))
KERNEL32(fma_f32, ROUNDINGS(PUT32, "fma", ".f32", THREE) ROUNDINGS(PUT32, "fma", ".ftz.f32", THREE)
         PUT32("fma.rn.sat.f32" THREE) PUT32("fma.rn.ftz.sat.f32" THREE))
KERNEL32(div_f32, ROUNDINGS(PUT32, "div", ".f32", TWO) PUT32("div.rn.ftz.f32" TWO) PUT32("div.rz.ftz.f32" TWO))
KERNEL32(roots_f32, ROUNDINGS(PUT32, "rcp", ".f32", " %0, %1;") ROUNDINGS(PUT32, "sqrt", ".f32", " %0, %1;")
         PUT32("rcp.rn.ftz.f32 %0, %1;") PUT32("sqrt.rn.ftz.f32 %0, %1;"))
KERNEL32(min_f32, PUT32("min.f32" TWO) PUT32("min.ftz.f32" TWO) PUT32("min.NaN.f32" TWO) PUT32("min.ftz.NaN.f32" TWO)
         PUT32("min.xorsign.abs.f32" TWO) PUT32("min.NaN.xorsign.abs.f32" TWO) PUT32("max.f32" TWO)
         PUT32("max.ftz.f32" TWO) PUT32("max.NaN.f32" TWO) PUT32("max.ftz.NaN.f32" TWO)
         PUT32("max.xorsign.abs.f32" TWO) PUT32("max.NaN.xorsign.abs.f32" TWO))
KERNEL32(signs_f32, PUT32("neg.f32 %0, %1;") PUT32("neg.ftz.f32 %0, %1;") PUT32("abs.f32 %0, %1;")
         PUT32("abs.ftz.f32 %0, %1;") PUT32("copysign.f32" TWO)
         PUT32("{ .reg .pred p; testp.finite.f32 p, %1; selp.u32 %0, 1, 0, p; }")
         PUT32("{ .reg .pred p; testp.infinite.f32 p, %1; selp.u32 %0, 1, 0, p; }")
         PUT32("{ .reg .pred p; testp.number.f32 p, %1; selp.u32 %0, 1, 0, p; }")
         PUT32("{ .reg .pred p; testp.notanumber.f32 p, %1; selp.u32 %0, 1, 0, p; }")
         PUT32("{ .reg .pred p; testp.normal.f32 p, %1; selp.u32 %0, 1, 0, p; }")
         PUT32("{ .reg .pred p; testp.subnormal.f32 p, %1; selp.u32 %0, 1, 0, p; }"))
#define SET(op) PUT32("set." op ".u32.f32" TWO) PUT32("set." op ".ftz.f32.f32" TWO)
KERNEL32(set_f32, SET("eq") SET("ne") SET("lt") SET("le") SET("gt") SET("ge") SET("num") SET("nan"))
KERNEL32(set_unordered_f32, SET("equ") SET("neu") SET("ltu") SET("leu") SET("gtu") SET("geu")
         PUT32("slct.f32.s32" THREE) PUT32("slct.ftz.u32.f32" THREE) PUT32("slct.u32.f32" THREE))
// What a compiler may fuse: negated operands of sums of products.
KERNEL32(negated_f32, PUT32("{ .reg .b32 t; neg.f32 t, %1; fma.rn.f32 %0, t, %2, %3; }")
         PUT32("{ .reg .b32 t; neg.f32 t, %3; fma.rn.f32 %0, %1, %2, t; }")
         PUT32("{ .reg .b32 t; abs.f32 t, %1; add.f32 %0, t, %2; }")
         PUT32("{ .reg .b32 t; neg.f32 t, %1; min.f32 %0, t, %2; }") PUT32("mad.rn.f32" THREE)
         PUT32("mad.rn.ftz.f32" THREE))

KERNEL64(add_f64, ROUNDINGS(PUT64, "add", ".f64", TWO) PUT64("sub.f64" TWO))
KERNEL64(mul_f64, ROUNDINGS(PUT64, "mul", ".f64", TWO))
KERNEL64(fma_f64, ROUNDINGS(PUT64, "fma", ".f64", THREE))
KERNEL64(div_f64, ROUNDINGS(PUT64, "div", ".f64", TWO))
KERNEL64(roots_f64, PUT64("rcp.rn.f64 %0, %1;") PUT64("rcp.rp.f64 %0, %1;") PUT64("sqrt.rn.f64 %0, %1;")
         PUT64("sqrt.rz.f64 %0, %1;"))
KERNEL64(min_f64, PUT64("min.f64" TWO) PUT64("max.f64" TWO) PUT64("neg.f64 %0, %1;") PUT64("abs.f64 %0, %1;")
         PUT64("copysign.f64" TWO))
