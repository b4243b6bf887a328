// Conversions between all types: rounding, overflow, NaN, signs of zero, clamping.
#include "numbers.cuh"

struct Every {
    template <int>
    static __device__ inline uint16_t operand(uint32_t index) { return index; }
};

// Of 16 bits all numbers, else swept ones.
#define CVT(name, Out, In, Kind, RANGE, text)                                                                          \
    extern "C" __global__ void name(Out* out, In* in) {                                                                \
        In x = Kind::operand<RANGE>(thread_index());                                                                   \
        Out y;                                                                                                         \
        asm volatile("{ .reg .b16 s; " text " }" : "=" OF(Out)(y) : OF(In)(x));                                        \
        in[thread_index()] = x, out[thread_index()] = y;                                                               \
    }

// Floats to integers.
#define TO_BYTES(from, In, Kind, RANGE, round, tail, flush)                                                            \
    CVT(from##_s8_##round##tail, uint32_t, In, Kind, RANGE, "cvt." #round "i" flush ".s8." #from " %0, %1;")           \
    CVT(from##_u8_##round##tail, uint32_t, In, Kind, RANGE, "cvt." #round "i" flush ".u8." #from " %0, %1;")
#define TO_INTEGERS(from, In, Kind, RANGE, round, tail, flush)                                                         \
    CVT(from##_s16_##round##tail, uint16_t, In, Kind, RANGE, "cvt." #round "i" flush ".s16." #from " %0, %1;")         \
    CVT(from##_u16_##round##tail, uint16_t, In, Kind, RANGE, "cvt." #round "i" flush ".u16." #from " %0, %1;")         \
    CVT(from##_s32_##round##tail, uint32_t, In, Kind, RANGE, "cvt." #round "i" flush ".s32." #from " %0, %1;")         \
    CVT(from##_u32_##round##tail, uint32_t, In, Kind, RANGE, "cvt." #round "i" flush ".u32." #from " %0, %1;")         \
    CVT(from##_s64_##round##tail, uint64_t, In, Kind, RANGE, "cvt." #round "i" flush ".s64." #from " %0, %1;")         \
    CVT(from##_u64_##round##tail, uint64_t, In, Kind, RANGE, "cvt." #round "i" flush ".u64." #from " %0, %1;")
TO_BYTES(f32, uint32_t, Single, 10, rn, , "")
TO_BYTES(f64, uint64_t, Double, 10, rz, , "")
TO_BYTES(f16, uint16_t, Every, 0, rp, , "")
TO_INTEGERS(f32, uint32_t, Single, 66, rn, , "")
TO_INTEGERS(f32, uint32_t, Single, 66, rz, , "")
TO_INTEGERS(f32, uint32_t, Single, 66, rm, _ftz, ".ftz")
TO_INTEGERS(f32, uint32_t, Single, 66, rp, , "")
TO_INTEGERS(f64, uint64_t, Double, 66, rn, , "")
TO_INTEGERS(f64, uint64_t, Double, 66, rz, , "")
TO_INTEGERS(f64, uint64_t, Double, 66, rm, , "")
TO_INTEGERS(f16, uint16_t, Every, 0, rn, , "")
TO_INTEGERS(f16, uint16_t, Every, 0, rp, , "")
TO_INTEGERS(bf16, uint16_t, Every, 0, rn, , "")
TO_INTEGERS(bf16, uint16_t, Every, 0, rz, , "")

// Integers to floats.
struct Whole32 {
    template <int>
    static __device__ inline uint32_t operand(uint32_t index) {
        uint32_t h = mix(index * 2), x = mix(h) >> h % 32;
        if (h & 0x100) x = (x & ~(0xffu >> (h >> 9 & 7))) + (h >> 12 & 3) - 1;
        return h & 0x10000 ? -x : x;
    }
};
struct Whole64 {
    template <int>
    static __device__ inline uint64_t operand(uint32_t index) {
        uint32_t h = mix(index * 2);
        uint64_t x = Double::random(h);
        if (h & 0x100) x = (x & ~(0xffffffffffull >> (h >> 9 & 31))) + (h >> 14 & 3) - 1;
        x >>= h % 64;
        return h & 0x10000 ? -x : x;
    }
};
#define FROM_INTEGERS(to, Out, round)                                                                                  \
    CVT(u16_##to##_##round, Out, uint32_t, Whole32, 0, "cvt.u16.u32 s, %1; cvt." #round "." #to ".u16 %0, s;")         \
    CVT(s32_##to##_##round, Out, uint32_t, Whole32, 0, "cvt." #round "." #to ".s32 %0, %1;")                           \
    CVT(u32_##to##_##round, Out, uint32_t, Whole32, 0, "cvt." #round "." #to ".u32 %0, %1;")                           \
    CVT(s64_##to##_##round, Out, uint64_t, Whole64, 0, "cvt." #round "." #to ".s64 %0, %1;")                           \
    CVT(u64_##to##_##round, Out, uint64_t, Whole64, 0, "cvt." #round "." #to ".u64 %0, %1;")
FROM_INTEGERS(f16, uint16_t, rn)
FROM_INTEGERS(f16, uint16_t, rz)
FROM_INTEGERS(f16, uint16_t, rp)
FROM_INTEGERS(bf16, uint16_t, rn)
FROM_INTEGERS(bf16, uint16_t, rm)
FROM_INTEGERS(f32, uint32_t, rn)
FROM_INTEGERS(f32, uint32_t, rm)
FROM_INTEGERS(f64, uint64_t, rn)
FROM_INTEGERS(f64, uint64_t, rp)
CVT(s8_f16, uint16_t, uint32_t, Whole32, 0, "cvt.rn.f16.s8 %0, %1;")
CVT(s8_f32, uint32_t, uint32_t, Whole32, 0, "cvt.rn.f32.s8 %0, %1;")
CVT(u8_f64, uint64_t, uint32_t, Whole32, 0, "cvt.rn.f64.u8 %0, %1;")

// Integers to integers, clamped.
CVT(s32_s8_sat, uint32_t, uint32_t, Whole32, 0, "cvt.sat.s8.s32 %0, %1;")
CVT(s32_u8_sat, uint32_t, uint32_t, Whole32, 0, "cvt.sat.u8.s32 %0, %1;")
CVT(u32_s16_sat, uint16_t, uint32_t, Whole32, 0, "cvt.sat.s16.u32 %0, %1;")
CVT(s64_u32_sat, uint32_t, uint64_t, Whole64, 0, "cvt.sat.u32.s64 %0, %1;")
CVT(u64_s32_sat, uint32_t, uint64_t, Whole64, 0, "cvt.sat.s32.u64 %0, %1;")
CVT(s32_s8, uint32_t, uint32_t, Whole32, 0, "cvt.s8.s32 %0, %1;")
CVT(s64_u16, uint16_t, uint64_t, Whole64, 0, "cvt.u16.s64 %0, %1;")

// Floats to floats.
#define ROUNDED(from, to, In, Out, Kind, RANGE, flush, tail)                                                           \
    CVT(from##_##to##_rn##tail, Out, In, Kind, RANGE, "cvt.rn" flush "." #to "." #from " %0, %1;")                     \
    CVT(from##_##to##_rz##tail, Out, In, Kind, RANGE, "cvt.rz" flush "." #to "." #from " %0, %1;")                     \
    CVT(from##_##to##_rm##tail, Out, In, Kind, RANGE, "cvt.rm" flush "." #to "." #from " %0, %1;")                     \
    CVT(from##_##to##_rp##tail, Out, In, Kind, RANGE, "cvt.rp" flush "." #to "." #from " %0, %1;")
ROUNDED(f64, f32, uint64_t, uint32_t, Double, 160, "", )
ROUNDED(f64, f32, uint64_t, uint32_t, Double, 160, ".ftz", _ftz)
CVT(f64_f32_sat, uint32_t, uint64_t, Double, 40, "cvt.rn.sat.f32.f64 %0, %1;")
CVT(f64_f16_rn, uint16_t, uint64_t, Double, 30, "cvt.rn.f16.f64 %0, %1;")
CVT(f64_f16_rz, uint16_t, uint64_t, Double, 30, "cvt.rz.f16.f64 %0, %1;")
CVT(f64_f16_rp, uint16_t, uint64_t, Double, 30, "cvt.rp.f16.f64 %0, %1;")
CVT(f64_bf16_rn, uint16_t, uint64_t, Double, 160, "cvt.rn.bf16.f64 %0, %1;")
CVT(f64_bf16_rz, uint16_t, uint64_t, Double, 160, "cvt.rz.bf16.f64 %0, %1;")
ROUNDED(f32, f16, uint32_t, uint16_t, Single, 30, "", )
CVT(f32_f16_rn_ftz, uint16_t, uint32_t, Single, 30, "cvt.rn.ftz.f16.f32 %0, %1;")
CVT(f32_f16_sat, uint16_t, uint32_t, Single, 30, "cvt.rn.sat.f16.f32 %0, %1;")
CVT(f32_f16_relu, uint16_t, uint32_t, Single, 30, "cvt.rn.relu.f16.f32 %0, %1;")
CVT(f32_f16_rz_relu, uint16_t, uint32_t, Single, 30, "cvt.rz.relu.f16.f32 %0, %1;")
CVT(f32_f16_satfinite, uint16_t, uint32_t, Single, 30, "cvt.rn.satfinite.f16.f32 %0, %1;")
CVT(f32_f16_relu_satfinite, uint16_t, uint32_t, Single, 30, "cvt.rn.relu.satfinite.f16.f32 %0, %1;")
CVT(f32_bf16_rn, uint16_t, uint32_t, Single, 30, "cvt.rn.bf16.f32 %0, %1;")
CVT(f32_bf16_rz, uint16_t, uint32_t, Single, 30, "cvt.rz.bf16.f32 %0, %1;")
CVT(f32_bf16_rm, uint16_t, uint32_t, Single, 30, "cvt.rm.bf16.f32 %0, %1;")
CVT(f32_bf16_relu, uint16_t, uint32_t, Single, 30, "cvt.rn.relu.bf16.f32 %0, %1;")
CVT(f32_bf16_satfinite, uint16_t, uint32_t, Single, 30, "cvt.rn.satfinite.bf16.f32 %0, %1;")
CVT(f32_tf32_rna, uint32_t, uint32_t, Single, 30, "cvt.rna.tf32.f32 %0, %1;")
CVT(f32_tf32_rna_satfinite, uint32_t, uint32_t, Single, 30, "cvt.rna.satfinite.tf32.f32 %0, %1;")
CVT(f32_tf32_rn, uint32_t, uint32_t, Single, 30, "cvt.rn.tf32.f32 %0, %1;")
CVT(f32_tf32_rz, uint32_t, uint32_t, Single, 30, "cvt.rz.tf32.f32 %0, %1;")
CVT(f32_tf32_rn_relu, uint32_t, uint32_t, Single, 30, "cvt.rn.relu.tf32.f32 %0, %1;")
CVT(f32_tf32_rz_relu, uint32_t, uint32_t, Single, 30, "cvt.rz.relu.tf32.f32 %0, %1;")
CVT(f32_f32_rni, uint32_t, uint32_t, Single, 30, "cvt.rni.f32.f32 %0, %1;")
CVT(f32_f32_rpi_ftz, uint32_t, uint32_t, Single, 30, "cvt.rpi.ftz.f32.f32 %0, %1;")
CVT(f32_f32_sat, uint32_t, uint32_t, Single, 30, "cvt.sat.f32.f32 %0, %1;")
CVT(f32_f64, uint64_t, uint32_t, Single, 30, "cvt.f64.f32 %0, %1;")
CVT(f32_f64_ftz, uint64_t, uint32_t, Single, 30, "cvt.ftz.f64.f32 %0, %1;")
CVT(f64_f64_rmi, uint64_t, uint64_t, Double, 60, "cvt.rmi.f64.f64 %0, %1;")
CVT(f64_f64_rni, uint64_t, uint64_t, Double, 60, "cvt.rni.f64.f64 %0, %1;")
CVT(f64_f64_sat, uint64_t, uint64_t, Double, 60, "cvt.sat.f64.f64 %0, %1;")
CVT(f16_f32, uint32_t, uint16_t, Every, 0, "cvt.f32.f16 %0, %1;")
CVT(f16_f32_ftz, uint32_t, uint16_t, Every, 0, "cvt.ftz.f32.f16 %0, %1;")
CVT(f16_f64, uint64_t, uint16_t, Every, 0, "cvt.f64.f16 %0, %1;")
CVT(f16_f16_rni, uint16_t, uint16_t, Every, 0, "cvt.rni.f16.f16 %0, %1;")
CVT(f16_f16_sat, uint16_t, uint16_t, Every, 0, "cvt.sat.f16.f16 %0, %1;")
CVT(f16_bf16, uint16_t, uint16_t, Every, 0, "cvt.rn.bf16.f16 %0, %1;")
CVT(bf16_f32, uint32_t, uint16_t, Every, 0, "cvt.f32.bf16 %0, %1;")
CVT(bf16_f64, uint64_t, uint16_t, Every, 0, "cvt.f64.bf16 %0, %1;")
CVT(bf16_f16, uint16_t, uint16_t, Every, 0, "cvt.rn.f16.bf16 %0, %1;")
CVT(bf16_bf16_rzi, uint16_t, uint16_t, Every, 0, "cvt.rzi.bf16.bf16 %0, %1;")

// Two at a time: the first operand goes to the upper half.
#define PAIRS(name, Out, text)                                                                                         \
    extern "C" __global__ void name(Out* out, uint32_t* in) {                                                          \
        uint32_t x = Single::operand<24>(thread_index()), y = Single::operand<12>(mix(thread_index()));                \
        Out z;                                                                                                         \
        asm volatile(text " %0, %1, %2;" : "=" OF(Out)(z) : "r"(x), "r"(y));                                           \
        in[thread_index()] = x, in[thread_index() + thread_count()] = y, out[thread_index()] = z;                      \
    }
PAIRS(f32_f16x2_rn, uint32_t, "cvt.rn.f16x2.f32")
PAIRS(f32_f16x2_rz_relu, uint32_t, "cvt.rz.relu.f16x2.f32")
PAIRS(f32_f16x2_satfinite, uint32_t, "cvt.rn.satfinite.f16x2.f32")
PAIRS(f32_bf16x2_rn, uint32_t, "cvt.rn.bf16x2.f32")
PAIRS(f32_bf16x2_rz, uint32_t, "cvt.rz.bf16x2.f32")
PAIRS(f32_bf16x2_relu_satfinite, uint32_t, "cvt.rn.relu.satfinite.bf16x2.f32")
PAIRS(f32_e4m3x2, uint16_t, "cvt.rn.satfinite.e4m3x2.f32")
PAIRS(f32_e4m3x2_relu, uint16_t, "cvt.rn.satfinite.relu.e4m3x2.f32")
PAIRS(f32_e5m2x2, uint16_t, "cvt.rn.satfinite.e5m2x2.f32")
PAIRS(f32_e5m2x2_relu, uint16_t, "cvt.rn.satfinite.relu.e5m2x2.f32")
CVT(f16x2_e4m3x2, uint16_t, uint32_t, Halves, 12, "cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;")
CVT(f16x2_e4m3x2_relu, uint16_t, uint32_t, Halves, 12, "cvt.rn.satfinite.relu.e4m3x2.f16x2 %0, %1;")
CVT(f16x2_e5m2x2, uint16_t, uint32_t, Halves, 12, "cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;")
CVT(f16x2_e5m2x2_relu, uint16_t, uint32_t, Halves, 12, "cvt.rn.satfinite.relu.e5m2x2.f16x2 %0, %1;")
CVT(e4m3x2_f16x2, uint32_t, uint16_t, Every, 0, "cvt.rn.f16x2.e4m3x2 %0, %1;")
CVT(e4m3x2_f16x2_relu, uint32_t, uint16_t, Every, 0, "cvt.rn.relu.f16x2.e4m3x2 %0, %1;")
CVT(e5m2x2_f16x2, uint32_t, uint16_t, Every, 0, "cvt.rn.f16x2.e5m2x2 %0, %1;")
CVT(e5m2x2_f16x2_relu, uint32_t, uint16_t, Every, 0, "cvt.rn.relu.f16x2.e5m2x2 %0, %1;")

// Packed integers, clamped.
#define PACK(name, text, tail)                                                                                         \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        uint32_t x = Whole32::operand<0>(thread_index()), y = Whole32::operand<0>(thread_index() + 77777);             \
        uint32_t c = mix(thread_index()), z;                                                                           \
        asm volatile(text " %0, %1, %2" tail ";" : "=r"(z) : "r"(x), "r"(y), "r"(c));                                  \
        in[thread_index()] = x, in[thread_index() + thread_count()] = y, out[thread_index()] = z;                      \
    }
PACK(pack_s16, "cvt.pack.sat.s16.s32", "")
PACK(pack_u16, "cvt.pack.sat.u16.s32", "")
PACK(pack_s8, "cvt.pack.sat.s8.s32.b32", ", %3")
PACK(pack_u8, "cvt.pack.sat.u8.s32.b32", ", %3")
PACK(pack_s4, "cvt.pack.sat.s4.s32.b32", ", %3")
PACK(pack_u4, "cvt.pack.sat.u4.s32.b32", ", %3")
PACK(pack_s2, "cvt.pack.sat.s2.s32.b32", ", %3")
PACK(pack_u2, "cvt.pack.sat.u2.s32.b32", ", %3")
