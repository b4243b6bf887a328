// Arithmetic of one thread in f16 and bf16, alone and in pairs. Results [row][thread].
#include "numbers.cuh"

#define SETUP(T, Kind)                                                                                                 \
    uint32_t index = thread_index(), count = thread_count();                                                           \
    T x = Kind::operand<6, 4096>(index), y = Kind::partner<1, 4096>(x, index), z = Kind::partner<2, 4096>(x, index);   \
    in[index] = x, in[index + count] = y, in[index + 2 * count] = z

#define PUT(text)                                                                                                      \
    {                                                                                                                  \
        uint16_t d;                                                                                                    \
        asm volatile(text : "=h"(d) : "h"(x), "h"(y), "h"(z));                                                         \
        out[index] = d, out += count;                                                                                  \
    }
#define PUT2(text)                                                                                                     \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        asm volatile(text : "=r"(d) : "r"(x), "r"(y), "r"(z));                                                         \
        out[index] = d, out += count;                                                                                  \
    }
#define TWO " %0, %1, %2;"
#define THREE " %0, %1, %2, %3;"

#define KERNEL(name, T, Kind, ...)                                                                                     \
    extern "C" __global__ void name(T* out, T* in) {                                                                   \
        SETUP(T, Kind);                                                                                                \
        __VA_ARGS__                                                                                                    \
    }

#define SUMS16(P, type)                                                                                                \
    P("add." type TWO) P("add.ftz." type TWO) P("add.sat." type TWO) P("add.ftz.sat." type TWO) P("sub." type TWO)     \
    P("sub.sat." type TWO) P("mul." type TWO) P("mul.ftz." type TWO) P("mul.sat." type TWO)
#define FUSED16(P, type)                                                                                               \
    P("fma.rn." type THREE) P("fma.rn.ftz." type THREE) P("fma.rn.sat." type THREE) P("fma.rn.relu." type THREE)       \
    P("fma.rn.ftz.relu." type THREE)
#define EXTREMES(P, type)                                                                                              \
    P("min." type TWO) P("min.NaN." type TWO) P("min.xorsign.abs." type TWO) P("min.NaN.xorsign.abs." type TWO)        \
    P("max." type TWO) P("max.NaN." type TWO) P("max.xorsign.abs." type TWO) P("max.NaN.xorsign.abs." type TWO)
KERNEL(sums_f16, uint16_t, Half, SUMS16(PUT, "f16"))
KERNEL(sums_f16x2, uint32_t, Halves, SUMS16(PUT2, "f16x2"))
KERNEL(fused_f16, uint16_t, Half, FUSED16(PUT, "f16"))
KERNEL(fused_f16x2, uint32_t, Halves, FUSED16(PUT2, "f16x2"))
KERNEL(extremes_f16, uint16_t, Half, EXTREMES(PUT, "f16") PUT("min.ftz.f16" TWO) PUT("max.ftz.NaN.f16" TWO)
       PUT("neg.f16 %0, %1;") PUT("neg.ftz.f16 %0, %1;") PUT("abs.f16 %0, %1;") PUT("abs.ftz.f16 %0, %1;"))
KERNEL(extremes_f16x2, uint32_t, Halves, EXTREMES(PUT2, "f16x2") PUT2("min.ftz.f16x2" TWO)
       PUT2("max.ftz.NaN.f16x2" TWO) PUT2("neg.f16x2 %0, %1;") PUT2("abs.f16x2 %0, %1;"))
KERNEL(sums_bf16, uint16_t, Brain, PUT("add.bf16" TWO) PUT("sub.bf16" TWO) PUT("mul.bf16" TWO)
       PUT("add.rn.bf16" TWO))
KERNEL(sums_bf16x2, uint32_t, Brains, PUT2("add.bf16x2" TWO) PUT2("sub.bf16x2" TWO) PUT2("mul.bf16x2" TWO))
KERNEL(fused_bf16, uint16_t, Brain, PUT("fma.rn.bf16" THREE) PUT("fma.rn.relu.bf16" THREE))
KERNEL(fused_bf16x2, uint32_t, Brains, PUT2("fma.rn.bf16x2" THREE) PUT2("fma.rn.relu.bf16x2" THREE))
KERNEL(extremes_bf16, uint16_t, Brain, EXTREMES(PUT, "bf16") PUT("neg.bf16 %0, %1;") PUT("abs.bf16 %0, %1;"))
KERNEL(extremes_bf16x2, uint32_t, Brains, EXTREMES(PUT2, "bf16x2") PUT2("neg.bf16x2 %0, %1;")
       PUT2("abs.bf16x2 %0, %1;"))
KERNEL(out_of_bounds_f16, uint16_t, Half, PUT("fma.rn.oob.f16" THREE) PUT("fma.rn.oob.relu.f16" THREE))
KERNEL(out_of_bounds_f16x2, uint32_t, Halves, PUT2("fma.rn.oob.f16x2" THREE) PUT2("fma.rn.oob.relu.f16x2" THREE))
KERNEL(out_of_bounds_bf16, uint16_t, Brain, PUT("fma.rn.oob.bf16" THREE) PUT("fma.rn.oob.relu.bf16" THREE))

#define SETS(P, type)                                                                                                  \
    P("set.eq." type TWO) P("set.ne." type TWO) P("set.lt." type TWO) P("set.leu." type TWO) P("set.gtu." type TWO)    \
    P("set.neu." type TWO) P("set.nan." type TWO) P("set.num." type TWO)
KERNEL(set_f16, uint16_t, Half, SETS(PUT, "f16.f16") PUT("set.lt.ftz.f16.f16" TWO) PUT("set.lt.u16.f16" TWO))
KERNEL(set_f16x2, uint32_t, Halves, SETS(PUT2, "f16x2.f16x2") PUT2("set.lt.ftz.f16x2.f16x2" TWO))
KERNEL(set_bf16, uint16_t, Brain, SETS(PUT, "bf16.bf16") PUT("set.ge.u16.bf16" TWO))
KERNEL(set_bf16x2, uint32_t, Brains, SETS(PUT2, "bf16x2.bf16x2"))
#define PAIR(op, type)                                                                                                 \
    PUT2("{ .reg .pred p, q; .reg .b32 s; setp." op "." type " p|q, %1, %2; selp.b32 s, 1, 0, p; selp.b32 %0, 2, 0, "  \
         "q; or.b32 %0, %0, s; }")
KERNEL(setp_f16x2, uint32_t, Halves, PAIR("eq", "f16x2") PAIR("ltu", "f16x2") PAIR("ge.ftz", "f16x2")
       PAIR("nan", "f16x2"))
KERNEL(setp_bf16x2, uint32_t, Brains, PAIR("ne", "bf16x2") PAIR("leu", "bf16x2") PAIR("num", "bf16x2"))
