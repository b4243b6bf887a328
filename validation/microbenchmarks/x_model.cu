// The curves of the X-model (Li et al., 2016). f(k): what memory supplies to so many warps, by the copy and the triad of
// STREAM with elements of 4, 8 and 16 bytes. g(x): what the lanes do for so many warps that have so many independent
// instructions each (E), after Volkov.

#include "common.h"

template <class T> __device__ __forceinline__ T triad(T a, T b, float by);
template <> __device__ __forceinline__ float triad(float a, float b, float by) { return a + by * b; }
template <> __device__ __forceinline__ float2 triad(float2 a, float2 b, float by)
{
    return make_float2(a.x + by * b.x, a.y + by * b.y);
}
template <> __device__ __forceinline__ float4 triad(float4 a, float4 b, float by)
{
    return make_float4(a.x + by * b.x, a.y + by * b.y, a.z + by * b.z, a.w + by * b.w);
}

// A thread has ILP elements under way at a time; a block goes `rounds` times over ILP elements of each thread.
#define STREAM(NAME, TYPE, ILP)                                                                       \
    KERNEL copy_##NAME(TYPE *__restrict__ to, const TYPE *__restrict__ from, int rounds)              \
    {                                                                                                 \
        unsigned at = blockIdx.x * rounds * ILP * blockDim.x + threadIdx.x;                           \
        ROUNDS                                                                                        \
        {                                                                                             \
            TYPE of[ILP];                                                                             \
            _Pragma("unroll") for (int i = 0; i < ILP; i++) of[i] = from[at + i * blockDim.x];        \
            _Pragma("unroll") for (int i = 0; i < ILP; i++) to[at + i * blockDim.x] = of[i];          \
            at += ILP * blockDim.x;                                                                   \
        }                                                                                             \
    }                                                                                                 \
    KERNEL triad_##NAME(TYPE *__restrict__ to, const TYPE *__restrict__ a, const TYPE *__restrict__ b, float by, int rounds) \
    {                                                                                                 \
        unsigned at = blockIdx.x * rounds * ILP * blockDim.x + threadIdx.x;                           \
        ROUNDS                                                                                        \
        {                                                                                             \
            TYPE x[ILP], y[ILP];                                                                      \
            _Pragma("unroll") for (int i = 0; i < ILP; i++) x[i] = a[at + i * blockDim.x], y[i] = b[at + i * blockDim.x]; \
            _Pragma("unroll") for (int i = 0; i < ILP; i++) to[at + i * blockDim.x] = triad(x[i], y[i], by); \
            at += ILP * blockDim.x;                                                                   \
        }                                                                                             \
    }

STREAM(4, float, 1)
STREAM(8, float2, 1)
STREAM(16, float4, 1)
STREAM(4_ilp2, float, 2)
STREAM(4_ilp4, float, 4)

// A round is 64 instructions of a thread, in so many chains.
#define STEP(TYPE, C, INSTRUCTION, VALUE) asm volatile(INSTRUCTION : "+" C(VALUE) : C(s), C(t));
#define ILP(NAME, TYPE, C, INSTRUCTION)                                                          \
    KERNEL compute_##NAME##_ilp1(u64 *out, TYPE step, int rounds)                                \
    {                                                                                            \
        TYPE lane = (TYPE)(threadIdx.x % 32), a = step + lane, s = step - lane, t = s + step;    \
        __syncthreads();                                                                         \
        u64 start = now();                                                                       \
        ROUNDS { TIMES64(STEP(TYPE, C, INSTRUCTION, a)) }                                        \
        tell(out, now() - start, bits(a));                                                       \
    }                                                                                            \
    KERNEL compute_##NAME##_ilp2(u64 *out, TYPE step, int rounds)                                \
    {                                                                                            \
        TYPE lane = (TYPE)(threadIdx.x % 32), a = step + lane, s = step - lane, t = s + step, b = a + step; \
        __syncthreads();                                                                         \
        u64 start = now();                                                                       \
        ROUNDS { TIMES32(STEP(TYPE, C, INSTRUCTION, a) STEP(TYPE, C, INSTRUCTION, b)) }          \
        tell(out, now() - start, bits(a) ^ bits(b));                                             \
    }                                                                                            \
    KERNEL compute_##NAME##_ilp4(u64 *out, TYPE step, int rounds)                                \
    {                                                                                            \
        TYPE lane = (TYPE)(threadIdx.x % 32), a = step + lane, s = step - lane, t = s + step, b = a + step; \
        TYPE c = b + step, d = c + step;                                                         \
        __syncthreads();                                                                         \
        u64 start = now();                                                                       \
        ROUNDS                                                                                   \
        {                                                                                        \
            TIMES16(STEP(TYPE, C, INSTRUCTION, a) STEP(TYPE, C, INSTRUCTION, b)                  \
                    STEP(TYPE, C, INSTRUCTION, c) STEP(TYPE, C, INSTRUCTION, d))                 \
        }                                                                                        \
        tell(out, now() - start, bits(a) ^ bits(b) ^ bits(c) ^ bits(d));                         \
    }

ILP(ffma, float, "f", "fma.rn.f32 %0, %0, %1, %2;")
ILP(dfma, double, "d", "fma.rn.f64 %0, %0, %1, %2;")
ILP(imad, int, "r", "mad.lo.s32 %0, %0, %1, %2;")
