// Micro-benchmarks of single parameters of a GPU. Chains make a warp wait for one result after the other; streams keep a
// unit busy with work that does not wait. Instructions stand in assembly, so that no compiler removes or merges them.
//
// `validation/regenerate.py` makes sm_35.ptx of it, by way of kernels.cu.

#include "common.h"

// A chain of 64 instructions per round: each reads what the one before has written.
#define CHAIN(NAME, TYPE, CONSTRAINT, INSTRUCTION)                                               \
    extern "C" __global__ void chain_##NAME(TYPE *out, TYPE step, int rounds)                    \
    {                                                                                            \
        TYPE value = step;                                                                       \
        for (int round = 0; round < rounds; round++) {                                           \
            TIMES64(asm volatile(INSTRUCTION : "+" CONSTRAINT(value) : CONSTRAINT(step));)        \
        }                                                                                        \
        out[blockIdx.x * blockDim.x + threadIdx.x] = value;                                      \
    }

// Eight chains beside each other, so that there is always one whose result is there.
#define STREAM(NAME, TYPE, CONSTRAINT, INSTRUCTION)                                              \
    extern "C" __global__ void stream_##NAME(TYPE *out, TYPE step, int rounds)                   \
    {                                                                                            \
        TYPE a = step, b = step, c = step, d = step, e = step, f = step, g = step, h = step;     \
        for (int round = 0; round < rounds; round++) {                                           \
            TIMES4(TIMES4(asm volatile(INSTRUCTION : "+" CONSTRAINT(a) : CONSTRAINT(step));       \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(b) : CONSTRAINT(step));              \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(c) : CONSTRAINT(step));              \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(d) : CONSTRAINT(step));              \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(e) : CONSTRAINT(step));              \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(f) : CONSTRAINT(step));              \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(g) : CONSTRAINT(step));              \
                   asm volatile(INSTRUCTION : "+" CONSTRAINT(h) : CONSTRAINT(step));))            \
        }                                                                                        \
        out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;              \
    }

#define BOTH(NAME, TYPE, CONSTRAINT, INSTRUCTION)  \
    CHAIN(NAME, TYPE, CONSTRAINT, INSTRUCTION)     \
    STREAM(NAME, TYPE, CONSTRAINT, INSTRUCTION)

BOTH(fp32, float, "f", "fma.rn.f32 %0, %0, %1, %1;")
// Assemblers make one instruction, or none, of two logical operations with the same operands; of two permutations they do not.
BOTH(int32, int, "r", "prmt.b32 %0, %0, %1, %1;")
BOTH(int32_mul, int, "r", "mad.lo.s32 %0, %0, %1, %1;")
BOTH(fp64, double, "d", "fma.rn.f64 %0, %0, %1, %1;")
BOTH(sfu, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
BOTH(conversion, int, "r", "{ .reg .f32 t; cvt.rn.f32.s32 t, %0; cvt.rzi.s32.f32 %0, t; }")

// Each load of a word of shared memory tells where the next one is. The words are zero but for what the compiler cannot
// know, so that all lanes stay at the place of the first load.
extern "C" __global__ void chain_shared(int *out, int first, int rounds)
{
    __shared__ int words[1024];
    for (int at = threadIdx.x; at < 1024; at += blockDim.x)
        words[at] = first;
    __syncthreads();
    unsigned base = (unsigned)__cvta_generic_to_shared(words), at = base + 4 * threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        TIMES64(asm volatile("{ .reg .u32 t; ld.volatile.shared.u32 t, [%0]; add.u32 %0, %0, t; }" : "+r"(at));)
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = at - base;
}

// Loads of words of shared memory that are so many words apart from lane to lane, eight at a time.
extern "C" __global__ void stream_shared(float *out, int stride, int rounds)
{
    __shared__ float words[4096];
    for (int at = threadIdx.x; at < 4096; at += blockDim.x)
        words[at] = 0;
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(words) + 4 * (threadIdx.x % 32) * stride;
    float sum = 0;
    for (int round = 0; round < rounds; round++) {
        float a, b, c, d, e, f, g, h;
        TIMES4(asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(a) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(b) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(c) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(d) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(e) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(f) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(g) : "r"(at));
               asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(h) : "r"(at));
               sum += a + b + c + d + e + f + g + h;)
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Each load of device memory tells where the next one is: `stride` words further, as all words are zero, and round the
// buffer of `mask` + 1 words.
extern "C" __global__ void chain_global(int *out, const int *words, unsigned mask, unsigned stride, int rounds)
{
    unsigned at = 0;
    for (int round = 0; round < rounds; round++) {
        TIMES16({ unsigned next; asm volatile("ld.global.u32 %0, [%1];" : "=r"(next) : "l"(words + at));
                at = (at + stride + next) & mask; })
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// A round of a CTA reads a piece of the buffer of `mask` + 1 vectors of 16 bytes: four vectors for each thread, and `turn`
// pieces further in the next round.
extern "C" __global__ void stream_read(float *out, const float4 *from, unsigned mask, unsigned turn, int rounds)
{
    unsigned at = blockIdx.x * 4 * blockDim.x + threadIdx.x, step = turn * 4 * blockDim.x;
    float sum = 0;
    for (int round = 0; round < rounds; round++) {
        float4 a = from[at & mask], b = from[(at + blockDim.x) & mask];
        float4 c = from[(at + 2 * blockDim.x) & mask], d = from[(at + 3 * blockDim.x) & mask];
        at += step;
        sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w + c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One vector is the sum of two others: two bytes are read for each that is written.
extern "C" __global__ void stream_triad(float4 *a, const float4 *b, const float4 *c, float scale)
{
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    float4 x = b[at], y = c[at];
    a[at] = make_float4(x.x + scale * y.x, x.y + scale * y.y, x.z + scale * y.z, x.w + scale * y.w);
}

// Barriers of the CTA, one after the other.
extern "C" __global__ void chain_barrier(int *out, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        TIMES16(__syncthreads();)
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = rounds;
}

// Additions to one word by one lane of every CTA.
extern "C" __global__ void stream_atomic(int *word, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        TIMES16(atomicAdd(word, 1);)
    }
}
