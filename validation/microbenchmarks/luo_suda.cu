// The costs of PTX instructions after Luo & Suda (2011): pairs of kernels that repeat something 10000 times (625 rounds
// of 16) and differ by one instruction. The difference of their times, over the repetitions, is the cost. `without_X` is what the kernels of a
// kind have in common; `X_constant` and `X_register` have one instruction more, in the same chain.
//
// `cpd_N` has N computations to a load, for the surface of the computation parallel degree over warps and the proportion
// of computation.

#include "common.h"

// The register operand comes from memory, so that no compiler knows it.
#define PAIR(NAME, TYPE, C, EXTRA)                                                                    \
    KERNEL NAME(u64 *out, const TYPE *values, TYPE start, unsigned identity, int rounds)              \
    {                                                                                                 \
        unsigned value;                                                                               \
        TYPE with = values[threadIdx.x % 32], first = start + with;                                   \
        asm volatile("mov.b32 %0, %1;" : "=r"(value) : C(first));                                     \
        unsigned order = identity + (with == (TYPE)12345);                                            \
        u64 begin = now();                                                                            \
        ROUNDS                                                                                        \
        {                                                                                             \
            TIMES16(asm volatile("prmt.b32 %0, %0, %2, %3; " EXTRA                                    \
                                 : "+r"(value) : C(with), "r"(order), "r"(identity));)                \
        }                                                                                             \
        tell(out, now() - begin, value);                                                              \
    }

#define INT(NAME, EXTRA) PAIR(NAME, int, "r", EXTRA)
#define FLOAT(NAME, EXTRA) PAIR(NAME, float, "f", EXTRA)
#define INTS(NAME, INSTRUCTION)                               \
    INT(NAME##_int_constant, INSTRUCTION " %0, %0, 11;")        \
    INT(NAME##_int_register, INSTRUCTION " %0, %0, %1;")
#define FLOATS(NAME, INSTRUCTION)                                       \
    FLOAT(NAME##_float_constant, INSTRUCTION " %0, %0, 0f3F800002;")      \
    FLOAT(NAME##_float_register, INSTRUCTION " %0, %0, %1;")

INT(without_int, "")
FLOAT(without_float, "")

INTS(add, "add.s32")
INTS(sub, "sub.s32")
INTS(mul, "mul.lo.s32")
INT(div_int_constant, "div.s32 %0, %0, 11;")
INT(div_int_register, "div.s32 %0, %1, %0;")
INTS(min, "min.s32")
INTS(max, "max.s32")
INTS(and, "and.b32")
INTS(or, "or.b32")
INTS(xor, "xor.b32")
INT(neg_int, "neg.s32 %0, %0;")
INT(not_int, "not.b32 %0, %0;")
FLOATS(add, "add.rn.f32")
FLOATS(sub, "sub.rn.f32")
FLOATS(mul, "mul.rn.f32")
FLOAT(div_float_constant, "div.rn.f32 %0, %0, 0f3F800002;")
FLOAT(div_float_register, "div.rn.f32 %0, %1, %0;")
FLOATS(min, "min.f32")
FLOATS(max, "max.f32")
FLOAT(neg_float, "neg.f32 %0, %0;")

// Loads and stores of eight bytes for each thread, which hold their own address.
#define MEMORY(NAME, INSTRUCTION)                                                                   \
    KERNEL NAME(u64 *out, u64 *words, unsigned identity, int rounds)                                \
    {                                                                                               \
        u64 at = (u64)__cvta_generic_to_global(words + blockIdx.x * blockDim.x + threadIdx.x);      \
        asm volatile("st.global.u64 [%0], %0;" ::"l"(at) : "memory");                               \
        unsigned order = identity + (at == 12345);                                                  \
        __syncthreads();                                                                            \
        u64 begin = now();                                                                          \
        ROUNDS                                                                                      \
        {                                                                                           \
            TIMES16(asm volatile("{ .reg .u32 x, y; mov.b64 {x, y}, %0; prmt.b32 x, x, %1, %2; mov.b64 %0, {x, y}; " INSTRUCTION " }" \
                                 : "+l"(at) : "r"(order), "r"(identity) : "memory");)               \
        }                                                                                           \
        tell(out, now() - begin, at);                                                               \
    }

MEMORY(without_memory, "")
MEMORY(load, "ld.global.u64 %0, [%0];")
MEMORY(store, "st.global.u64 [%0], %0;")

// N additions that wait for each other, and a load that waits for them.
#define CPD(N, ADDITIONS)                                                                            \
    KERNEL cpd_##N(u64 *out, const unsigned *words, unsigned mask, unsigned turn, float step, int rounds) \
    {                                                                                                \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, at = thread;                        \
        float a = step + threadIdx.x % 32, s = step;                                                 \
        u64 begin = now();                                                                           \
        ROUNDS                                                                                       \
        {                                                                                            \
            float loaded;                                                                            \
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(loaded) : "l"(words + (at & mask)) : "memory"); \
            a += loaded;                                                                             \
            ADDITIONS(asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(s));)                    \
            at += turn + (a == 0.5f);                                                                \
        }                                                                                            \
        tell(out, now() - begin, at + bits(a));                                                      \
    }

CPD(1, TIMES1)
CPD(4, TIMES4)
CPD(16, TIMES16)
CPD(64, TIMES64)
#define TIMES256(...) TIMES4(TIMES64(__VA_ARGS__))
CPD(256, TIMES256)
