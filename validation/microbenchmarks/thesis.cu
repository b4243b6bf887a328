// The micro-benchmark of Dasgupta, "CUDA Performance Analyzer" (2011), appendix A: a loop of `iterations` (ITERS, 100) with
// 20 times two multiply-adds and CONFIG loads, each of which tells where the next one is. All words of `source` are the
// step from one to the next. The access patterns are those of tables 17 and 18; an index is rounded to an integer after
// each load, where the original adds it as a floating-point number, so that large grids stay exact.

#include "common.h"

#define FMAD2                                                        \
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a) : "f"(b));   \
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(b) : "f"(a));
#define FMAD8 TIMES4(FMAD2)

#define PREPARE                                                                                              \
    [[maybe_unused]] int t = threadIdx.x, B = blockIdx.x, bs = blockDim.x, w = t / 32, l = t % 32, C = 4 * iterations;        \
    float a = step + l, b = step;

#define TOLD(VALUE)                                                  \
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = a + b + VALUE;

#define SCALAR(NAME, INDEX)                                                                   \
    KERNEL scalar_##NAME(float *out, const float *source, float step, int iterations)         \
    {                                                                                         \
        PREPARE                                                                               \
        int index = INDEX;                                                                    \
        _Pragma("unroll 1") for (int i = 1; i <= iterations; i++)                             \
        {                                                                                     \
            TIMES4({ FMAD8 float value; asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(source + index)); index += (int)value; }) \
            FMAD8                                                                             \
        }                                                                                     \
        TOLD(index)                                                                           \
    }

SCALAR(32_apart, B * (bs / 32) * C * 32 + w * C * 32 + l / 16 * 8 + l % 8)
SCALAR(64_apart, B * (bs / 32) * C * 32 + w * C * 32 + l)
SCALAR(128_apart, B * (bs / 32) * C * 64 + w * C * 64 + 2 * l)
SCALAR(32_merging, B * bs + t / 16 * 8 + t % 8)
SCALAR(64_merging, B * bs + t)

#define VECTOR(NAME, INDEX)                                                                   \
    KERNEL vector_##NAME(float *out, const float4 *source, float step, int iterations)        \
    {                                                                                         \
        PREPARE                                                                               \
        float index3 = 0;                                                                     \
        int index = INDEX;                                                                    \
        _Pragma("unroll 1") for (int i = 1; i <= iterations; i++)                             \
        {                                                                                     \
            TIMES4({ FMAD8 float4 value;                                                      \
                     asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"                  \
                                  : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "l"(source + index)); \
                     index += (int)value.w; a += value.x; b += value.y; index3 += value.z; }) \
            FMAD8                                                                             \
        }                                                                                     \
        TOLD(index + index3)                                                                  \
    }

VECTOR(apart, B * (bs / 32) * C * 2 + w * C * 2)
VECTOR(merging, B * (bs / 32) * C * 2 + w * 2)

// CONFIG = 0: no loads.
KERNEL no_loads(float *out, float step, int iterations)
{
    PREPARE
    _Pragma("unroll 1") for (int i = 1; i <= iterations; i++) { TIMES4(FMAD8) FMAD8 }
    TOLD(0)
}
