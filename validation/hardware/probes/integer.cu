// Instructions on integers: overflow, operands out of range, division by zero, carries. Results [row][thread].
#include "integers.cuh"

#define PUT(text)                                                                                                      \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        asm volatile(text : "=r"(d) : "r"(x), "r"(y), "r"(z), "r"(w));                                                 \
        out[index] = d, out += count;                                                                                  \
    }
#define PUT64(text)                                                                                                    \
    {                                                                                                                  \
        uint64_t d;                                                                                                    \
        asm volatile(text : "=l"(d) : "l"(x), "l"(y), "l"(z), "r"(w));                                                 \
        out[index] = d, out += count;                                                                                  \
    }
#define TWO " %0, %1, %2;"
#define THREE " %0, %1, %2, %3;"
#define FOUR " %0, %1, %2, %3, %4;"

#define KERNEL(name, ...)                                                                                              \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        uint32_t index = thread_index(), count = thread_count();                                                       \
        uint32_t x = whole(index, 1), y = whole(index, 2), z = whole(index, 3), w = whole(index, 4);                   \
        in[index] = x, in[index + count] = y, in[index + 2 * count] = z, in[index + 3 * count] = w;                    \
        __VA_ARGS__                                                                                                    \
    }
#define LONG_KERNEL(name, ...)                                                                                         \
    extern "C" __global__ void name(uint64_t* out, uint64_t* in) {                                                     \
        uint32_t index = thread_index(), count = thread_count();                                                       \
        uint64_t x = long_whole(index, 1), y = long_whole(index, 2), z = long_whole(index, 3);                         \
        uint32_t w = whole(index, 4);                                                                                  \
        in[index] = x, in[index + count] = y, in[index + 2 * count] = z, in[index + 3 * count] = w;                    \
        __VA_ARGS__                                                                                                    \
    }

KERNEL(divide, PUT("div.s32" TWO) PUT("div.u32" TWO) PUT("rem.s32" TWO) PUT("rem.u32" TWO)
       PUT("{ .reg .s16 a, b; cvt.u16.u32 a, %1; cvt.u16.u32 b, %2; div.s16 a, a, b; cvt.u32.u16 %0, a; }")
       PUT("{ .reg .s16 a, b; cvt.u16.u32 a, %1; cvt.u16.u32 b, %2; rem.u16 a, a, b; cvt.u32.u16 %0, a; }"))
LONG_KERNEL(divide_long, PUT64("div.s64" TWO) PUT64("div.u64" TWO) PUT64("rem.s64" TWO) PUT64("rem.u64" TWO))
KERNEL(multiply, PUT("mul.lo.s32" TWO) PUT("mul.hi.s32" TWO) PUT("mul.hi.u32" TWO) PUT("mad.lo.s32" THREE)
       PUT("mad.hi.s32" THREE) PUT("mad.hi.u32" THREE) PUT("mad.hi.sat.s32" THREE) PUT("mul24.lo.s32" TWO)
       PUT("mul24.lo.u32" TWO) PUT("mul24.hi.s32" TWO) PUT("mul24.hi.u32" TWO) PUT("mad24.lo.s32" THREE)
       PUT("mad24.hi.u32" THREE) PUT("mad24.hi.s32" THREE) PUT("mad24.hi.sat.s32" THREE))
LONG_KERNEL(multiply_long, PUT64("mul.lo.u64" TWO) PUT64("mul.hi.s64" TWO) PUT64("mul.hi.u64" TWO)
            PUT64("mad.hi.s64" THREE) PUT64("mad.hi.u64" THREE) PUT64("mul.wide.u32 %0, %4, %4;")
            PUT64("mad.wide.s32 %0, %4, %4, %3;"))
KERNEL(sums, PUT("add.sat.s32" TWO) PUT("sub.sat.s32" TWO) PUT("sad.s32" THREE) PUT("sad.u32" THREE)
       PUT("abs.s32 %0, %1;") PUT("neg.s32 %0, %1;") PUT("min.relu.s32" TWO) PUT("max.relu.s32" TWO)
       PUT("add.s16x2" TWO) PUT("min.s16x2" TWO) PUT("min.relu.s16x2" TWO) PUT("max.relu.s16x2" TWO)
       PUT("max.u16x2" TWO))
LONG_KERNEL(sums_long, PUT64("sad.s64" THREE) PUT64("sad.u64" THREE) PUT64("abs.s64 %0, %1;") PUT64("min.s64" TWO)
            PUT64("max.u64" TWO) PUT64("neg.s64 %0, %1;"))
KERNEL(shift, PUT("shl.b32" TWO) PUT("shr.u32" TWO) PUT("shr.s32" TWO) PUT("shf.l.clamp.b32" THREE)
       PUT("shf.l.wrap.b32" THREE) PUT("shf.r.clamp.b32" THREE) PUT("shf.r.wrap.b32" THREE)
       PUT("{ .reg .b16 a; cvt.u16.u32 a, %1; shl.b16 a, a, %2; cvt.u32.u16 %0, a; }")
       PUT("{ .reg .s16 a; cvt.u16.u32 a, %1; shr.s16 a, a, %2; cvt.u32.u16 %0, a; }"))
LONG_KERNEL(shift_long, PUT64("shl.b64 %0, %1, %4;") PUT64("shr.u64 %0, %1, %4;") PUT64("shr.s64 %0, %1, %4;"))
KERNEL(fields, PUT("bfe.u32" THREE) PUT("bfe.s32" THREE) PUT("bfi.b32" FOUR) PUT("bfind.u32 %0, %1;")
       PUT("bfind.s32 %0, %1;") PUT("bfind.shiftamt.u32 %0, %1;") PUT("bfind.shiftamt.s32 %0, %1;")
       PUT("brev.b32 %0, %1;") PUT("popc.b32 %0, %1;") PUT("clz.b32 %0, %1;") PUT("bmsk.clamp.b32" TWO)
       PUT("bmsk.wrap.b32" TWO) PUT("szext.clamp.u32" TWO) PUT("szext.clamp.s32" TWO) PUT("szext.wrap.u32" TWO)
       PUT("szext.wrap.s32" TWO))
LONG_KERNEL(fields_long, PUT64("{ .reg .b32 a; cvt.u32.u64 a, %2; bfe.u64 %0, %1, a, %4; }")
            PUT64("{ .reg .b32 a; cvt.u32.u64 a, %2; bfe.s64 %0, %1, a, %4; }")
            PUT64("{ .reg .b32 a; cvt.u32.u64 a, %3; bfi.b64 %0, %1, %2, a, %4; }")
            PUT64("{ .reg .b32 a; bfind.s64 a, %1; cvt.u64.u32 %0, a; }")
            PUT64("{ .reg .b32 a; bfind.shiftamt.u64 a, %1; cvt.u64.u32 %0, a; }") PUT64("brev.b64 %0, %1;")
            PUT64("{ .reg .b32 a; popc.b64 a, %1; cvt.u64.u32 %0, a; }")
            PUT64("{ .reg .b32 a; clz.b64 a, %1; cvt.u64.u32 %0, a; }"))
KERNEL(nth_set, PUT("fns.b32" THREE) PUT("{ .reg .b32 a, b; and.b32 a, %2, 31; and.b32 b, %3, 15; sub.s32 b, b, 7; "
       "fns.b32 %0, %1, a, b; }"))
KERNEL(permute, PUT("prmt.b32" THREE) PUT("prmt.b32.f4e" THREE) PUT("prmt.b32.b4e" THREE) PUT("prmt.b32.rc8" THREE)
       PUT("prmt.b32.ecl" THREE) PUT("prmt.b32.ecr" THREE) PUT("prmt.b32.rc16" THREE))
KERNEL(logic, PUT("lop3.b32 %0, %1, %2, %3, 0x1b;") PUT("lop3.b32 %0, %1, %2, %3, 0xe8;")
       PUT("lop3.b32 %0, %1, %2, %3, 0x72;") PUT("lop3.b32 %0, %1, %2, %3, 0x96;")
       PUT("{ .reg .pred p, q; .reg .b32 a; setp.lt.s32 q, %4, 0; lop3.or.b32 a|p, %1, %2, %3, 0x80, q; "
           "selp.b32 %0, a, 0xffff, p; }") PUT("cnot.b32 %0, %1;"))
KERNEL(dot, PUT("dp4a.s32.s32" THREE) PUT("dp4a.u32.u32" THREE) PUT("dp4a.s32.u32" THREE) PUT("dp4a.u32.s32" THREE)
       PUT("dp2a.lo.s32.s32" THREE) PUT("dp2a.hi.s32.s32" THREE) PUT("dp2a.lo.u32.u32" THREE)
       PUT("dp2a.hi.u32.s32" THREE) PUT("dp2a.lo.s32.u32" THREE))
KERNEL(carry, PUT("{ .reg .b32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, %4; }")
       PUT("{ .reg .b32 t; add.cc.s32 t, %1, %2; addc.cc.s32 t, %3, %4; addc.u32 %0, %1, 0; }")
       PUT("{ .reg .b32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, %4; }")
       PUT("{ .reg .b32 t; sub.cc.u32 t, %1, %2; subc.cc.u32 t, %3, %4; subc.u32 %0, %1, 0; }")
       PUT("{ .reg .b32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, %4; }")
       PUT("{ .reg .b32 t; mad.hi.cc.s32 t, %1, %2, %3; madc.lo.cc.s32 t, %1, %2, %4; addc.u32 %0, %4, 0; }")
       PUT("{ .reg .b32 t; mad.hi.cc.u32 t, %1, %2, %3; madc.hi.cc.u32 t, %3, %2, %4; addc.u32 %0, %4, t; }"))
LONG_KERNEL(carry_long, PUT64("{ .reg .b64 t; add.cc.u64 t, %1, %2; addc.u64 %0, %3, %1; }")
            PUT64("{ .reg .b64 t; sub.cc.u64 t, %1, %2; subc.u64 %0, %3, %1; }")
            PUT64("{ .reg .b64 t; mad.lo.cc.u64 t, %1, %2, %3; madc.hi.u64 %0, %1, %2, %3; }"))
