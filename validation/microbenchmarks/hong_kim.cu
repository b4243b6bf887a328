// Mb1 to Mb7 of Hong & Kim (2009), table 4: a loop that is executed 601 times, with 0, 1, 1, 2, 2, 4 and 6 loads and 23,
// 17, 29, 27, 35, 47 and 59 computations a round, of which 20, 8, 20, 12, 20, 20 and 20 are of floating point. The paper
// prints only these numbers; they say that a load has six instructions of its own and the loop three.
//
// `scale` is 1 for the coalesced form of each (`_C`) and 32 for the uncoalesced one (`_UC`): the number of words from lane
// to lane.

#include "common.h"

// Six instructions that find the address, and the load.
#define LOAD                                                                                                    \
    asm volatile("{ .reg .u32 a, b, c; .reg .u64 p;\n"                                                          \
                 "add.u32 %1, %1, %2; mad.lo.u32 a, %1, %3, %4; and.b32 b, a, %5; min.u32 c, b, %6;\n"          \
                 "shr.u32 c, c, %7; mad.wide.u32 p, c, 4, %8; ld.global.f32 %0, [p]; }"                         \
                 : "=f"(value), "+r"(at)                                                                        \
                 : "r"(turn), "r"(scale), "r"(first), "r"(mask), "r"(mask), "r"(shift), "l"(mine)            \
                 : "memory");

#define MAD2                                                         \
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a) : "f"(b));   \
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(b) : "f"(a));
#define MAD4 MAD2 MAD2
#define MAD8 MAD4 MAD4
#define MAD20 MAD8 MAD8 MAD4

// Two operations, of which the first reads what was loaded.
#define USE2                                                               \
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(a) : "f"(b), "f"(value)); \
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(b) : "f"(a));

#define MB(NUMBER, BODY)                                                                                        \
    KERNEL mb##NUMBER(float *out, const float *words, unsigned mask, unsigned turn, unsigned scale, unsigned first, \
                      unsigned shift, float step, int rounds)                                                   \
    {                                                                                                           \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, at = thread;                                   \
        [[maybe_unused]] const float *mine = words + threadIdx.x % 32 * shift;                                  \
        float a = step + threadIdx.x % 32, b = step, value = 0;                                                 \
        ROUNDS { BODY }                                                                                         \
        out[thread] = a + b + value + at;                                                                       \
    }

MB(1, MAD20)
MB(2, LOAD USE2 MAD2 MAD4)
MB(3, LOAD USE2 MAD8 MAD8 MAD2)
MB(4, LOAD USE2 MAD4 LOAD USE2 MAD4)
MB(5, LOAD USE2 MAD8 LOAD USE2 MAD8)
MB(6, LOAD USE2 MAD2 LOAD USE2 MAD4 LOAD USE2 MAD2 LOAD USE2 MAD4)
MB(7, LOAD USE2 LOAD USE2 MAD2 LOAD USE2 MAD2 LOAD USE2 LOAD USE2 MAD2 LOAD USE2 MAD2)
