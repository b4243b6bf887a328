// What a chip does as a whole: latencies and bandwidths by working set, bank conflicts, strides, atomics across the GPU,
// and the launch of blocks.

#include "common.h"

// A chain of loads by the first warp: each tells where the next one is, `stride` bytes further round the buffer of `mask`
// + 1 bytes, whose words are zero. All threads have read the last `sweep` bytes of the buffer before that.
#define CHASE(NAME, INSTRUCTION)                                                                                   \
    KERNEL chase_##NAME(u64 *out, const char *words, unsigned mask, unsigned stride, unsigned sweep, int rounds)   \
    {                                                                                                              \
        unsigned at = 0;                                                                                           \
        for (unsigned byte = threadIdx.x * 32; byte < sweep; byte += blockDim.x * 32) {                            \
            unsigned next;                                                                                         \
            asm volatile(INSTRUCTION : "=r"(next) : "l"(words + (mask + 1 - sweep) + byte) : "memory");            \
            at |= next;                                                                                            \
        }                                                                                                          \
        __syncthreads();                                                                                           \
        u64 cycles = 0;                                                                                            \
        if (threadIdx.x < 32) {                                                                                    \
            u64 start = now();                                                                                     \
            ROUNDS                                                                                                 \
            {                                                                                                      \
                TIMES16({ unsigned next; asm volatile(INSTRUCTION : "=r"(next) : "l"(words + at) : "memory");      \
                        at = (at + stride + next) & mask; })                                                       \
            }                                                                                                      \
            cycles = now() - start;                                                                                \
        }                                                                                                          \
        tell(out, cycles, at);                                                                                     \
    }

CHASE(l1, "ld.global.u32 %0, [%1];")
CHASE(l2, "ld.global.cg.u32 %0, [%1];")

// Loads of a working set of `mask` + 1 bytes, eight at a time, by threads that are `spread` bytes apart. Blocks have sets
// of their own, `own` bytes apart, or start `start` bytes apart in the same one; each round goes `turn` bytes further.
#define READ(NAME, TYPE, INSTRUCTION, ARE, OUTPUTS, OF)                                                                     \
    KERNEL read_##NAME(u64 *out, const char *words, unsigned mask, unsigned spread, unsigned own, unsigned start,           \
                       unsigned turn, int rounds)                                                                           \
    {                                                                                                                       \
        const char *set = words + (u64)own * blockIdx.x;                                                                    \
        unsigned at = start * blockIdx.x + spread * threadIdx.x, next = spread * blockDim.x, value = 0;                     \
        __syncthreads();                                                                                                    \
        u64 begin = now();                                                                                                  \
        ROUNDS                                                                                                              \
        {                                                                                                                   \
            TYPE of[8];                                                                                                     \
            _Pragma("unroll") for (int load = 0; load < 8; load++)                                                          \
                asm volatile(INSTRUCTION : OUTPUTS : "l"(set + ((at + load * next) & mask)) : "memory");                    \
            _Pragma("unroll") for (int load = 0; load < 8; load++) value ^= OF;                                             \
            at += turn;                                                                                                     \
        }                                                                                                                   \
        tell(out, now() - begin, value);                                                                                    \
    }

#define READS(LEVEL, SUFFIX)                                                                                               \
    READ(LEVEL##_4, unsigned, "ld.global" SUFFIX ".u32 %0, [%1];", is, "=r"(of[load]), of[load])                          \
    READ(LEVEL##_8, uint2, "ld.global" SUFFIX ".v2.u32 {%0, %1}, [%2];", is, "=r"(of[load].x) COMMA "=r"(of[load].y), of[load].x ^ of[load].y) \
    READ(LEVEL##_16, uint4, "ld.global" SUFFIX ".v4.u32 {%0, %1, %2, %3}, [%4];", is,                                     \
         "=r"(of[load].x) COMMA "=r"(of[load].y) COMMA "=r"(of[load].z) COMMA "=r"(of[load].w),                            \
         of[load].x ^ of[load].y ^ of[load].z ^ of[load].w)
#define COMMA ,

READS(l1, "")
READS(l2, ".cg")

// Stores likewise.
KERNEL write_16(u64 *out, char *words, unsigned mask, unsigned spread, unsigned own, unsigned start, unsigned turn, int rounds)
{
    char *set = words + (u64)own * blockIdx.x;
    unsigned at = start * blockIdx.x + spread * threadIdx.x, next = spread * blockDim.x;
    __syncthreads();
    u64 begin = now();
    ROUNDS
    {
#pragma unroll
        for (int store = 0; store < 8; store++)
            asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(set + ((at + store * next) & mask)), "r"(0) : "memory");
        at += turn;
    }
    tell(out, now() - begin, at);
}

// Loads and stores of shared memory by lanes that are `stride` bytes apart, 32 a round.
#define SHARED_LOADS(NAME, TYPE, INSTRUCTION, OUTPUTS, OF)                                                        \
    KERNEL shared_##NAME(u64 *out, unsigned stride, int rounds)                                                   \
    {                                                                                                             \
        __shared__ __align__(16) unsigned words[8192];                                                            \
        for (unsigned word = threadIdx.x; word < 8192; word += blockDim.x)                                        \
            words[word] = 0;                                                                                      \
        unsigned at = (unsigned)__cvta_generic_to_shared(words) + (stride * (threadIdx.x % 32) & 32767), value = 0; \
        __syncthreads();                                                                                          \
        u64 start = now();                                                                                        \
        ROUNDS                                                                                                    \
        {                                                                                                         \
            _Pragma("unroll") for (int group = 0; group < 4; group++) {                                           \
                TYPE of[8];                                                                                       \
                _Pragma("unroll") for (int load = 0; load < 8; load++)                                            \
                    asm volatile(INSTRUCTION : OUTPUTS : "r"(at) : "memory");                                     \
                _Pragma("unroll") for (int load = 0; load < 8; load++) value ^= OF;                               \
            }                                                                                                     \
        }                                                                                                         \
        tell(out, now() - start, value);                                                                          \
    }

SHARED_LOADS(load_4, unsigned, "ld.volatile.shared.u32 %0, [%1];", "=r"(of[load]), of[load])
SHARED_LOADS(load_8, uint2, "ld.volatile.shared.v2.u32 {%0, %1}, [%2];", "=r"(of[load].x) COMMA "=r"(of[load].y), of[load].x)
SHARED_LOADS(load_16, uint4, "ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];",
             "=r"(of[load].x) COMMA "=r"(of[load].y) COMMA "=r"(of[load].z) COMMA "=r"(of[load].w), of[load].x)

#define SHARED_STORES(NAME, INSTRUCTION)                                                                          \
    KERNEL shared_##NAME(u64 *out, unsigned stride, int rounds)                                                   \
    {                                                                                                             \
        __shared__ __align__(16) unsigned words[8192];                                                            \
        unsigned at = (unsigned)__cvta_generic_to_shared(words) + (stride * (threadIdx.x % 32) & 32767);          \
        __syncthreads();                                                                                          \
        u64 start = now();                                                                                        \
        ROUNDS { TIMES32(asm volatile(INSTRUCTION ::"r"(at), "r"(round) : "memory");) }                           \
        tell(out, now() - start, at);                                                                             \
    }

SHARED_STORES(store_4, "st.volatile.shared.u32 [%0], %1;")
SHARED_STORES(store_8, "st.volatile.shared.v2.u32 [%0], {%1, %1};")
SHARED_STORES(store_16, "st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};")

// Atomics of all threads of the GPU on `mask` + 1 places that are `spread` bytes apart, 16 a round.
#define ATOMICS(NAME, TYPE, C, INSTRUCTION)                                                                  \
    KERNEL atomics_##NAME(u64 *out, char *words, TYPE step, unsigned mask, unsigned spread, int rounds)      \
    {                                                                                                        \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        char *word = words + (u64)spread * (thread & mask);                                                  \
        TYPE value = step;                                                                                   \
        __syncthreads();                                                                                     \
        u64 start = now();                                                                                   \
        ROUNDS { TIMES16(asm volatile(INSTRUCTION : "+" C(value) : "l"(word), C(step) : "memory");) }        \
        tell(out, now() - start, bits(value));                                                               \
    }

ATOMICS(red_u32, unsigned, "r", "red.global.add.u32 [%1], %2;")
ATOMICS(red_f32, float, "f", "red.global.add.f32 [%1], %2;")
ATOMICS(atom_u32, unsigned, "r", "{ .reg .u32 x; atom.global.add.u32 x, [%1], %2; xor.b32 %0, %0, x; }")
ATOMICS(atom_chain_u32, unsigned, "r", "atom.global.add.u32 %0, [%1], %0;")

// Blocks that do nothing.
KERNEL empty() {}

// Blocks that do the same work, one chain of 64 multiply-adds a round in each thread.
KERNEL work(u64 *out, float step, int rounds)
{
    float a = step + threadIdx.x % 32, s = step;
    u64 start = now();
    ROUNDS { TIMES64(asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a) : "f"(s));) }
    tell(out, now() - start, bits(a));
}

// When each block began and on which multiprocessor: two words for each block.
KERNEL places(u64 *out, float step, int rounds)
{
    u64 start;
    unsigned place;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start)::"memory");
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    float a = step + threadIdx.x % 32, s = step;
    ROUNDS { TIMES64(asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a) : "f"(s));) }
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = start;
        out[2 * blockIdx.x + 1] = (u64)place << 32 | (unsigned)bits(a);
    }
}
