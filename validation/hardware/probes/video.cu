// Video instructions: parts of operands, clamped results, second operations, merged parts. Results [row][thread].
#include "integers.cuh"

#define PUT(text)                                                                                                      \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        asm volatile(text : "=r"(d) : "r"(x), "r"(y), "r"(z));                                                         \
        out[index] = d, out += count;                                                                                  \
    }
#define KERNEL(name, ...)                                                                                              \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        uint32_t index = thread_index(), count = thread_count();                                                       \
        uint32_t x = whole(index, 1), y = whole(index, 2), z = whole(index, 3);                                        \
        in[index] = x, in[index + count] = y, in[index + 2 * count] = z;                                               \
        __VA_ARGS__                                                                                                    \
    }
#define SCALAR(op)                                                                                                     \
    KERNEL(op, PUT(#op ".s32.s32.s32 %0, %1, %2;") PUT(#op ".u32.u32.u32 %0, %1, %2;")                                 \
           PUT(#op ".s32.u32.s32 %0, %1, %2;") PUT(#op ".u32.s32.u32 %0, %1, %2;")                                     \
           PUT(#op ".s32.s32.s32.sat %0, %1, %2;") PUT(#op ".u32.s32.u32.sat %0, %1, %2;")                             \
           PUT(#op ".s32.s32.u32 %0, %1.b3, %2.h1;") PUT(#op ".u32.u32.s32.sat.add %0, %1.b1, %2.b2, %3;")             \
           PUT(#op ".s32.s32.s32.min %0, %1.h0, %2.b0, %3;") PUT(#op ".u32.u32.u32.max %0, %1, %2.h0, %3;")            \
           PUT(#op ".s32.u32.u32.sat %0.b2, %1, %2, %3;") PUT(#op ".u32.s32.s32 %0.h1, %1.h1, %2.b3, %3;"))
SCALAR(vadd)
SCALAR(vsub)
SCALAR(vabsdiff)
SCALAR(vmin)
SCALAR(vmax)
#define SHIFT(op)                                                                                                      \
    KERNEL(op, PUT(#op ".s32.s32.u32.clamp %0, %1, %2;") PUT(#op ".u32.u32.u32.clamp %0, %1, %2;")                     \
           PUT(#op ".u32.u32.u32.wrap %0, %1, %2;") PUT(#op ".s32.u32.u32.sat.clamp %0, %1, %2;")                      \
           PUT(#op ".s32.s32.u32.wrap.add %0, %1.h1, %2.b0, %3;")                                                      \
           PUT(#op ".u32.s32.u32.sat.wrap %0.b1, %1, %2.b1, %3;"))
SHIFT(vshl)
SHIFT(vshr)
KERNEL(vmad, PUT("vmad.s32.s32.s32 %0, %1, %2, %3;") PUT("vmad.u32.u32.u32 %0, %1, %2, %3;")
       PUT("vmad.s32.u32.s32 %0, %1.h1, %2.h0, %3;") PUT("vmad.s32.s32.s32.sat %0, %1.h1, %2.h1, -%3;")
       PUT("vmad.s32.s32.s32.shr7 %0, %1.h0, %2.h0, %3;") PUT("vmad.u32.u32.u32.sat.shr15 %0, %1.b3, %2.h0, %3;")
       PUT("vmad.u32.u32.u32.po %0, %1.b0, %2.b1, %3;") PUT("vmad.s32.s32.s32.sat.shr15 %0, -%1.h0, %2.h1, %3;"))
#define SET(op)                                                                                                        \
    PUT("vset.s32.s32." op " %0, %1, %2;") PUT("vset.u32.s32." op " %0, %1.h0, %2.b1;")                                \
    PUT("vset.u32.u32." op ".add %0, %1.b0, %2.b1, %3;")
KERNEL(vset, SET("eq") SET("ne") SET("lt") SET("le") SET("gt") SET("ge"))
#define LANES2(op)                                                                                                     \
    KERNEL(op, PUT(#op ".s32.s32.s32 %0, %1, %2, %3;") PUT(#op ".u32.u32.u32.sat %0.h1, %1.h20, %2.h31, %3;")          \
           PUT(#op ".s32.u32.s32.sat %0, %1.h12, %2, %3;") PUT(#op ".s32.s32.s32.add %0.h10, %1, %2.h32, %3;"))
#define LANES4(op)                                                                                                     \
    KERNEL(op, PUT(#op ".s32.s32.s32 %0, %1, %2, %3;") PUT(#op ".u32.u32.u32.sat %0.b20, %1.b7531, %2.b4201, %3;")     \
           PUT(#op ".s32.u32.s32.sat %0, %1.b3217, %2, %3;") PUT(#op ".u32.u32.u32.add %0.b310, %1, %2.b7654, %3;"))
LANES2(vadd2)
LANES2(vsub2)
LANES2(vavrg2)
LANES2(vabsdiff2)
LANES2(vmin2)
LANES2(vmax2)
LANES4(vadd4)
LANES4(vsub4)
LANES4(vavrg4)
LANES4(vabsdiff4)
LANES4(vmin4)
LANES4(vmax4)
KERNEL(vset_lanes, PUT("vset2.s32.s32.lt %0, %1, %2, %3;") PUT("vset2.u32.u32.ge.add %0.h1, %1.h12, %2, %3;")
       PUT("vset4.u32.u32.ne %0, %1, %2, %3;") PUT("vset4.s32.u32.gt.add %0.b31, %1.b0123, %2.b4567, %3;"))
