// Atomic operations, each thread at its own place, in global and in shared memory: the old value and what is left.
#include "integers.cuh"
#include "numbers.cuh"

// The place holds x, operands are y and z. Out: old values in global, in shared memory, what is left in shared memory;
// what is left in global memory is a buffer of its own.
#define ATOM(name, T, X, Y, Z, text)                                                                                   \
    extern "C" __global__ void name(T* out, T* in, T* place) {                                                         \
        __shared__ T near[256];                                                                                        \
        uint32_t index = thread_index(), count = thread_count();                                                       \
        T x = X, y = Y, z = Z, d, e;                                                                                   \
        in[index] = x, in[index + count] = y, in[index + 2 * count] = z;                                               \
        place[index] = x, near[threadIdx.x] = x;                                                                       \
        uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(near + threadIdx.x));                           \
        asm volatile("atom.global." text : "=" OF(T)(d) : "l"(__cvta_generic_to_global(place + index)), OF(T)(y),      \
                     OF(T)(z) : "memory");                                                                             \
        asm volatile("atom.shared." text : "=" OF(T)(e) : "r"(here), OF(T)(y), OF(T)(z) : "memory");                   \
        out[index] = d, out[index + count] = e, out[index + 2 * count] = near[threadIdx.x];                            \
    }
#define ONE " %0, [%1], %2;"
#define NUMBERS(name, T, Kind, text)                                                                                   \
    ATOM(name, T, (Kind::operand<6, 256>(index)), (Kind::partner<1, 256>(x, index)), T(0), text)
NUMBERS(add_f32, uint32_t, Single, "add.f32" ONE)
NUMBERS(add_f64, uint64_t, Double, "add.f64" ONE)
NUMBERS(add_f16x2, uint32_t, Halves, "add.noftz.f16x2" ONE)
NUMBERS(add_bf16x2, uint32_t, Brains, "add.noftz.bf16x2" ONE)
NUMBERS(add_f16, uint16_t, Half, "add.noftz.f16" ONE)
NUMBERS(add_bf16, uint16_t, Brain, "add.noftz.bf16" ONE)

#define INTEGERS(name, text) ATOM(name, uint32_t, whole(index, 1), whole(index, 2), whole(index, 3), text)
#define LONGS(name, text) ATOM(name, uint64_t, long_whole(index, 1), long_whole(index, 2), long_whole(index, 3), text)
INTEGERS(add_u32, "add.u32" ONE)
INTEGERS(min_s32, "min.s32" ONE)
INTEGERS(min_u32, "min.u32" ONE)
INTEGERS(max_s32, "max.s32" ONE)
INTEGERS(max_u32, "max.u32" ONE)
INTEGERS(inc_u32, "inc.u32" ONE)
INTEGERS(dec_u32, "dec.u32" ONE)
INTEGERS(and_b32, "and.b32" ONE)
INTEGERS(xor_b32, "xor.b32" ONE)
INTEGERS(exch_b32, "exch.b32" ONE)
LONGS(add_u64, "add.u64" ONE)
LONGS(min_s64, "min.s64" ONE)
LONGS(max_s64, "max.s64" ONE)
LONGS(max_u64, "max.u64" ONE)
LONGS(or_b64, "or.b64" ONE)
LONGS(exch_b64, "exch.b64" ONE)
ATOM(cas_b16, uint16_t, whole(index, 1), (index & 1 ? x : whole(index, 2)), whole(index, 3),
     "cas.b16 %0, [%1], %2, %3;")
ATOM(cas_b32, uint32_t, whole(index, 1), (index & 1 ? x : whole(index, 2)), whole(index, 3),
     "cas.b32 %0, [%1], %2, %3;")
ATOM(cas_b64, uint64_t, long_whole(index, 1), (index & 1 ? x : long_whole(index, 2)), long_whole(index, 3),
     "cas.b64 %0, [%1], %2, %3;")

// 128 bits: half the comparisons meet, some in one half only.
extern "C" __global__ void cas_b128(ulonglong2* out, ulonglong2* place) {
    uint32_t index = thread_index();
    ulonglong2 x = {long_whole(index, 1), long_whole(index, 2)}, y = x, d;
    ulonglong2 z = {long_whole(index, 3), long_whole(index, 4)};
    if (index & 2) y.x = long_whole(index, 5);
    if (index & 4) y.y = long_whole(index, 6);
    place[index] = x;
    asm volatile(
        "{ .reg .b128 b, c, d; mov.b128 b, {%3, %4}; mov.b128 c, {%5, %6}; atom.global.cas.b128 d, [%2], b, c; "
        "mov.b128 {%0, %1}, d; }"
        : "=l"(d.x), "=l"(d.y)
        : "l"(__cvta_generic_to_global(place + index)), "l"(y.x), "l"(y.y), "l"(z.x), "l"(z.y)
        : "memory");
    out[index] = d;
}
extern "C" __global__ void exch_b128(ulonglong2* out, ulonglong2* place) {
    uint32_t index = thread_index();
    ulonglong2 x = {long_whole(index, 1), long_whole(index, 2)}, y = {long_whole(index, 3), long_whole(index, 4)}, d;
    place[index] = x;
    asm volatile(
        "{ .reg .b128 b, d; mov.b128 b, {%3, %4}; atom.global.exch.b128 d, [%2], b; mov.b128 {%0, %1}, d; }"
        : "=l"(d.x), "=l"(d.y)
        : "l"(__cvta_generic_to_global(place + index)), "l"(y.x), "l"(y.y)
        : "memory");
    out[index] = d;
}

// Several at once; the place begins with the first operand, the results are old values.
#define VECTOR(name, Kind, text, red)                                                                                  \
    extern "C" __global__ void name(uint4* out, uint4* in, uint4* place) {                                             \
        uint32_t index = thread_index(), count = thread_count();                                                       \
        uint4 d;                                                                                                       \
        _Pragma("unroll 1") for (int i = 0; i < 4; i++) {                                                              \
            uint32_t* words = reinterpret_cast<uint32_t*>(place + index);                                              \
            uint32_t* operands = reinterpret_cast<uint32_t*>(in + index);                                              \
            words[i] = Kind::operand<6, 256>(index * 4 + i);                                                           \
            words[i + 4 * count] = words[i];                                                                           \
            operands[i] = words[i];                                                                                    \
            operands[i + 4 * count] = Kind::partner<1, 256>(words[i], index * 4 + i);                                  \
        }                                                                                                              \
        uint4 b = in[index + count];                                                                                   \
        asm volatile(text " {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"                                                 \
                     : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)                                                      \
                     : "l"(__cvta_generic_to_global(place + index)), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w)            \
                     : "memory");                                                                                      \
        asm volatile(red " [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(place + index + count)), "r"(b.x),  \
                     "r"(b.y), "r"(b.z), "r"(b.w)                                                                      \
                     : "memory");                                                                                      \
        out[index] = d;                                                                                                \
    }
VECTOR(v4_f32, Single, "atom.global.add.v4.f32", "red.global.add.v4.f32")
VECTOR(v4_f16x2, Halves, "atom.global.add.noftz.v4.f16x2", "red.global.add.noftz.v4.f16x2")
VECTOR(v4_f16x2_min, Halves, "atom.global.min.noftz.v4.f16x2", "red.global.min.noftz.v4.f16x2")
VECTOR(v4_bf16x2, Brains, "atom.global.add.noftz.v4.bf16x2", "red.global.add.noftz.v4.bf16x2")
VECTOR(v4_bf16x2_max, Brains, "atom.global.max.noftz.v4.bf16x2", "red.global.max.noftz.v4.bf16x2")

// Reductions in place, without results.
#define REDUCTION(name, T, Kind, text)                                                                                 \
    extern "C" __global__ void name(T* place) {                                                                        \
        uint32_t index = thread_index();                                                                               \
        T x = Kind::operand<6, 256>(index), y = Kind::partner<1, 256>(x, index);                                       \
        place[index] = x;                                                                                              \
        asm volatile("red.global." text " [%0], %1;" ::"l"(__cvta_generic_to_global(place + index)), OF(T)(y)          \
                     : "memory");                                                                                      \
    }
REDUCTION(red_f32, uint32_t, Single, "add.f32")
REDUCTION(red_f64, uint64_t, Double, "add.f64")
REDUCTION(red_f16x2, uint32_t, Halves, "add.noftz.f16x2")
REDUCTION(red_bf16, uint16_t, Brain, "add.noftz.bf16")
