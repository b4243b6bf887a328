// Products with a sparse first factor, for all selectors and both forms of metadata.
#include "probe.cuh"

#define SPARSE(name, D, A, B, Sums, Left, Right, Places, which, selector, text)                                        \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        uint32_t a[A], b[B], c[D], places[1];                                                                          \
        fill<Left, Right>(a, b, in, KIND_A, KIND_B), fill<Sums>(c, in, A + B, KIND_C);                                 \
        fill<Places>(places, in, A + B + D, 0);                                                                        \
        asm volatile(text LIST_##D##_##A##_##B ", %" #which ", " #selector ";"                                         \
                     : BOTH##D(c)                                                                                      \
                     : READ##A(a), READ##B(b), READ1(places));                                                         \
        store(out, c);                                                                                                 \
    }
// The small shape in a selector, the large one in one of half as many.
#define SMALL(name, D, Sums, Factor, Places, which, selector, shape)                                                   \
    SPARSE(name##_##selector, D, 2, 2, Sums, Factor, Factor, Places, which, selector, shape)
#define LARGE(name, D, Sums, Factor, Places, which, selector, shape)                                                   \
    SPARSE(name##_##selector, D, 4, 4, Sums, Factor, Factor, Places, which, selector, shape)
#define ORDERED "mma.sp::ordered_metadata.sync.aligned."
#define PLAIN "mma.sp.sync.aligned."

SMALL(sp_m16n8k16_f16_f32, 4, F32, F16, TwoOfFour, 8, 0, PLAIN "m16n8k16.row.col.f32.f16.f16.f32")
SMALL(sp_m16n8k16_f16_f32, 4, F32, F16, TwoOfFour, 8, 1, ORDERED "m16n8k16.row.col.f32.f16.f16.f32")
SMALL(sp_m16n8k16_f16_f32, 4, F32, F16, TwoOfFour, 8, 2, ORDERED "m16n8k16.row.col.f32.f16.f16.f32")
SMALL(sp_m16n8k16_f16_f32, 4, F32, F16, TwoOfFour, 8, 3, ORDERED "m16n8k16.row.col.f32.f16.f16.f32")
SMALL(sp_m16n8k16_f16_f16, 2, F16, F16, TwoOfFour, 6, 1, ORDERED "m16n8k16.row.col.f16.f16.f16.f16")
LARGE(sp_m16n8k32_f16_f32, 4, F32, F16, TwoOfFour, 12, 0, PLAIN "m16n8k32.row.col.f32.f16.f16.f32")
LARGE(sp_m16n8k32_f16_f32, 4, F32, F16, TwoOfFour, 12, 1, ORDERED "m16n8k32.row.col.f32.f16.f16.f32")
LARGE(sp_m16n8k32_f16_f16, 2, F16, F16, TwoOfFour, 10, 0, ORDERED "m16n8k32.row.col.f16.f16.f16.f16")
SMALL(sp_m16n8k16_bf16, 4, F32, Bf16, TwoOfFour, 8, 2, ORDERED "m16n8k16.row.col.f32.bf16.bf16.f32")
LARGE(sp_m16n8k32_bf16, 4, F32, Bf16, TwoOfFour, 12, 1, PLAIN "m16n8k32.row.col.f32.bf16.bf16.f32")
SMALL(sp_m16n8k8_tf32, 4, F32, Tf32, OneOfTwo, 8, 3, PLAIN "m16n8k8.row.col.f32.tf32.tf32.f32")
SMALL(sp_m16n8k8_tf32, 4, F32, Tf32, OneOfTwo, 8, 0, ORDERED "m16n8k8.row.col.f32.tf32.tf32.f32")
LARGE(sp_m16n8k16_tf32, 4, F32, Tf32, OneOfTwo, 12, 1, ORDERED "m16n8k16.row.col.f32.tf32.tf32.f32")
SMALL(sp_m16n8k32_s8, 4, Total, Bits, TwoOfFour, 8, 0, PLAIN "m16n8k32.row.col.s32.s8.s8.s32")
SMALL(sp_m16n8k32_s8, 4, Total, Bits, TwoOfFour, 8, 1, ORDERED "m16n8k32.row.col.satfinite.s32.s8.u8.s32")
LARGE(sp_m16n8k64_s8, 4, Total, Bits, TwoOfFour, 12, 0, ORDERED "m16n8k64.row.col.satfinite.s32.u8.s8.s32")
SMALL(sp_m16n8k64_s4, 4, Total, Bits, TwoOfFour, 8, 0, PLAIN "m16n8k64.row.col.s32.s4.u4.s32")
SMALL(sp_m16n8k64_s4, 4, Total, Bits, TwoOfFour, 8, 1, ORDERED "m16n8k64.row.col.satfinite.s32.s4.s4.s32")
LARGE(sp_m16n8k128_s4, 4, Total, Bits, TwoOfFour, 12, 0, ORDERED "m16n8k128.row.col.s32.u4.s4.s32")
LARGE(sp_m16n8k64_e4m3_f32, 4, F32, E4m3, TwoOfFour, 12, 0, ORDERED "m16n8k64.row.col.f32.e4m3.e4m3.f32")
LARGE(sp_m16n8k64_e5m2_f32, 4, F32, E5m2, TwoOfFour, 12, 0, PLAIN "m16n8k64.row.col.f32.e5m2.e5m2.f32")
