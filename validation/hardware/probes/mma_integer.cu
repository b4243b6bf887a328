// Products of integers of 8, 4 and 1 bits: signs, wrapping and clamped sums.
#include "probe.cuh"

#define INTEGER(left, right, clamp, tail, small, middle, large)                                                        \
    MMA(m8n8k##small##_##left##_##right##tail, 2, 1, 1, Total, Bits, Bits,                                             \
        "mma.sync.aligned.m8n8k" #small ".row.col" clamp ".s32." #left "." #right ".s32")                              \
    MMA(m16n8k##middle##_##left##_##right##tail, 4, 2, 1, Total, Bits, Bits,                                           \
        "mma.sync.aligned.m16n8k" #middle ".row.col" clamp ".s32." #left "." #right ".s32")                            \
    MMA(m16n8k##large##_##left##_##right##tail, 4, 4, 2, Total, Bits, Bits,                                            \
        "mma.sync.aligned.m16n8k" #large ".row.col" clamp ".s32." #left "." #right ".s32")
#define SIGNS(left, right, small, middle, large)                                                                       \
    INTEGER(left, right, "", , small, middle, large)                                                                   \
    INTEGER(left, right, ".satfinite", _clamped, small, middle, large)
SIGNS(s8, s8, 16, 16, 32)
SIGNS(s8, u8, 16, 16, 32)
SIGNS(u8, s8, 16, 16, 32)
SIGNS(u8, u8, 16, 16, 32)
SIGNS(s4, s4, 32, 32, 64)
SIGNS(s4, u4, 32, 32, 64)
SIGNS(u4, s4, 32, 32, 64)
SIGNS(u4, u4, 32, 32, 64)

#define BINARY(op)                                                                                                     \
    MMA(m8n8k128_##op, 2, 1, 1, Total, Bits, Bits, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32." #op ".popc")     \
    MMA(m16n8k128_##op, 4, 2, 1, Total, Bits, Bits, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32." #op ".popc")   \
    MMA(m16n8k256_##op, 4, 4, 2, Total, Bits, Bits, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32." #op ".popc")
BINARY(xor)
BINARY(and)
