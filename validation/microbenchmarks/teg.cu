// Latency and throughput of single instructions, between two reads of the clock: the method of TEG (Lai & Seznec, 2011),
// with the instructions of its table and those of later chips. Instructions stand in assembly, so that no compiler removes
// or merges them; operands differ from lane to lane, so that none is computed once for the warp.
//
// `latency_X` is one chain, `throughput_X` eight chains beside each other. A round is 64 instructions, or 16 where the
// family says so.

#include "common.h"

// value = f(value, s, t).
#define LATENCY(NAME, TYPE, C, N, INSTRUCTION)                                                            \
    KERNEL latency_##NAME(u64 *out, TYPE step, int rounds)                                                \
    {                                                                                                     \
        TYPE lane = (TYPE)(threadIdx.x % 32), a = step + lane, s = step - lane, t = step + step + lane;   \
        __syncthreads();                                                                                  \
        u64 start = now();                                                                                \
        ROUNDS { TIMES##N(asm volatile(INSTRUCTION : "+" C(a) : C(s), C(t));) }                           \
        tell(out, now() - start, bits(a));                                                                \
    }

#define OF_64 TIMES8
#define OF_16 TIMES2

#define THROUGHPUT(NAME, TYPE, C, N, INSTRUCTION)                                                         \
    KERNEL throughput_##NAME(u64 *out, TYPE step, int rounds)                                             \
    {                                                                                                     \
        TYPE lane = (TYPE)(threadIdx.x % 32), s = step - lane, t = step + step + lane;                    \
        TYPE a = step + lane, b = a + step, c = b + step, d = c + step;                                   \
        TYPE e = d + step, f = e + step, g = f + step, h = g + step;                                      \
        __syncthreads();                                                                                  \
        u64 start = now();                                                                                \
        ROUNDS                                                                                            \
        {                                                                                                 \
            OF_##N(asm volatile(INSTRUCTION : "+" C(a) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(b) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(c) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(d) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(e) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(f) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(g) : C(s), C(t));                                     \
                   asm volatile(INSTRUCTION : "+" C(h) : C(s), C(t));)                                    \
        }                                                                                                 \
        u64 end = now();                                                                                  \
        tell(out, end - start, bits(a) ^ bits(b) ^ bits(c) ^ bits(d) ^ bits(e) ^ bits(f) ^ bits(g) ^ bits(h)); \
    }

#define BOTH(NAME, TYPE, C, N, INSTRUCTION)   \
    LATENCY(NAME, TYPE, C, N, INSTRUCTION)    \
    THROUGHPUT(NAME, TYPE, C, N, INSTRUCTION)

// a = f(a, b, s), then b = f(b, a, s): each value is read twice, so that no two steps become one instruction.
#define CROSS(A, B, C, INSTRUCTION)                          \
    asm volatile(INSTRUCTION : "+" C(A) : C(B), C(s), C(t)); \
    asm volatile(INSTRUCTION : "+" C(B) : C(A), C(s), C(t));

#define BOTH_CROSSED(NAME, TYPE, C, INSTRUCTION)                                                          \
    KERNEL latency_##NAME(u64 *out, TYPE step, int rounds)                                                \
    {                                                                                                     \
        TYPE lane = (TYPE)(threadIdx.x % 32), a = step + lane, b = step - lane;                           \
        TYPE s = step + step + lane, t = s + step;                                                        \
        __syncthreads();                                                                                  \
        u64 start = now();                                                                                \
        ROUNDS { TIMES32(CROSS(a, b, C, INSTRUCTION)) }                                                   \
        tell(out, now() - start, bits(a) ^ bits(b));                                                      \
    }                                                                                                     \
    KERNEL throughput_##NAME(u64 *out, TYPE step, int rounds)                                             \
    {                                                                                                     \
        TYPE lane = (TYPE)(threadIdx.x % 32), s = step + step + lane, t = s + step;                       \
        TYPE a = step + lane, b = a + step, c = b + step, d = c + step;                                   \
        TYPE e = d + step, f = e + step, g = f + step, h = g + step;                                      \
        TYPE a2 = step - lane, b2 = a2 + step, c2 = b2 + step, d2 = c2 + step;                            \
        TYPE e2 = d2 + step, f2 = e2 + step, g2 = f2 + step, h2 = g2 + step;                              \
        __syncthreads();                                                                                  \
        u64 start = now();                                                                                \
        ROUNDS                                                                                            \
        {                                                                                                 \
            TIMES4(asm volatile(INSTRUCTION : "+" C(a) : C(a2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(b) : C(b2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(c) : C(c2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(d) : C(d2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(e) : C(e2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(f) : C(f2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(g) : C(g2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(h) : C(h2), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(a2) : C(a), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(b2) : C(b), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(c2) : C(c), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(d2) : C(d), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(e2) : C(e), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(f2) : C(f), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(g2) : C(g), C(s), C(t));                              \
                   asm volatile(INSTRUCTION : "+" C(h2) : C(h), C(s), C(t));)                             \
        }                                                                                                 \
        u64 end = now();                                                                                  \
        tell(out, end - start, bits(a) ^ bits(b) ^ bits(c) ^ bits(d) ^ bits(e) ^ bits(f) ^ bits(g) ^ bits(h) ^ \
             bits(a2) ^ bits(b2) ^ bits(c2) ^ bits(d2) ^ bits(e2) ^ bits(f2) ^ bits(g2) ^ bits(h2));      \
    }

// The table of TEG.
BOTH_CROSSED(iadd, unsigned, "r", "add.u32 %0, %0, %1;")
BOTH(imul16, unsigned short, "h", 64, "mul.lo.u16 %0, %0, %1;")
BOTH(imad16, unsigned short, "h", 64, "mad.lo.u16 %0, %0, %1, %2;")
BOTH(imul24, int, "r", 16, "mul24.lo.s32 %0, %0, %1;")
BOTH(imad24, int, "r", 16, "mad24.lo.s32 %0, %0, %1, %2;")
BOTH(fadd, float, "f", 64, "add.rn.f32 %0, %0, %1;")
BOTH(fmul, float, "f", 64, "mul.rn.f32 %0, %0, %1;")
BOTH(ffma, float, "f", 64, "fma.rn.f32 %0, %0, %1, %2;")
BOTH(dadd, double, "d", 64, "add.rn.f64 %0, %0, %1;")
BOTH(dmul, double, "d", 64, "mul.rn.f64 %0, %0, %1;")
BOTH(dfma, double, "d", 64, "fma.rn.f64 %0, %0, %1, %2;")

// 21 additions between the two reads, as the paper writes them: what the reads themselves take is in it.
KERNEL additions_21(u64 *out, float step)
{
    float lane = (float)(threadIdx.x % 32), a = step + lane, s = step - lane;
    __syncthreads();
    u64 start = now();
    TIMES16(asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(s) : "memory");)
    TIMES4(asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(s) : "memory");)
    asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(s) : "memory");
    tell(out, now() - start, bits(a));
}

// Nothing between the two reads.
KERNEL additions_0(u64 *out, float step)
{
    u64 start = now();
    tell(out, now() - start, bits(step));
}

// Integer instructions of later chips.
BOTH(imad, int, "r", 64, "mad.lo.s32 %0, %0, %1, %2;")
BOTH(imad_wide, u64, "l", 64, "{ .reg .u32 x, y, z; mov.b64 {x, y}, %0; mov.b64 {z, y}, %1; mad.wide.u32 %0, x, z, %2; }")
BOTH_CROSSED(lop3, unsigned, "r", "lop3.b32 %0, %0, %1, %2, 0x96;")
BOTH_CROSSED(shf, unsigned, "r", "shf.l.wrap.b32 %0, %0, %1, %2;")
BOTH(popc, unsigned, "r", 64, "popc.b32 %0, %0;")
BOTH(clz, unsigned, "r", 64, "clz.b32 %0, %0;")
BOTH(bfind, unsigned, "r", 64, "bfind.u32 %0, %0;")
BOTH(brev_xor, unsigned, "r", 64, "{ .reg .u32 x; brev.b32 x, %0; xor.b32 %0, x, %1; }")
BOTH_CROSSED(prmt, unsigned, "r", "prmt.b32 %0, %0, %1, %2;")
BOTH(iabs_sub, int, "r", 64, "{ .reg .s32 x; abs.s32 x, %0; sub.s32 %0, x, %1; }")
BOTH_CROSSED(imin, int, "r", "min.s32 %0, %0, %1;")
BOTH_CROSSED(imin_imax, int, "r", "{ .reg .s32 x; min.s32 x, %0, %1; max.s32 %0, x, %2; }")
BOTH(isetp_sel, int, "r", 64, "{ .reg .pred p; setp.lt.s32 p, %0, %1; selp.s32 %0, %2, %1, p; }")
BOTH(fsetp_sel, float, "f", 64, "{ .reg .pred p; setp.lt.f32 p, %0, %1; selp.f32 %0, %2, %1, p; }")
BOTH_CROSSED(fmnmx, float, "f", "min.f32 %0, %0, %1;")
BOTH_CROSSED(iadd64, u64, "l", "add.u64 %0, %0, %1;")
BOTH(imul64, u64, "l", 64, "mul.lo.u64 %0, %0, %1;")
BOTH(imul_hi, unsigned, "r", 64, "mul.hi.u32 %0, %0, %1;")
BOTH(dp4a, int, "r", 64, "dp4a.s32.s32 %0, %1, %2, %0;")
BOTH(idiv_or, int, "r", 16, "{ .reg .s32 x; div.s32 x, %2, %0; or.b32 %0, x, 1; }")
BOTH(udiv_or, unsigned, "r", 16, "{ .reg .u32 x; div.u32 x, %2, %0; or.b32 %0, x, 1; }")
BOTH(bfe, unsigned, "r", 64, "bfe.u32 %0, %0, 3, 17;")

// Half precision, as two numbers in a register.
BOTH(hadd2, unsigned, "r", 64, "add.rn.f16x2 %0, %0, %1;")
BOTH(hfma2, unsigned, "r", 64, "fma.rn.f16x2 %0, %0, %1, %2;")
#if __CUDA_ARCH__ >= 800
BOTH(hfma2_bf16, unsigned, "r", 64, "fma.rn.bf16x2 %0, %0, %1, %2;")
#endif

// Division, roots and functions.
BOTH(div_full, float, "f", 16, "div.full.ftz.f32 %0, %1, %0;")
BOTH(div_rn, float, "f", 16, "div.rn.f32 %0, %1, %0;")
BOTH(rcp_add, float, "f", 64, "{ .reg .f32 x; rcp.approx.ftz.f32 x, %0; add.ftz.f32 %0, x, %1; }")
BOTH(rsqrt, float, "f", 64, "rsqrt.approx.ftz.f32 %0, %0;")
BOTH(sqrt, float, "f", 64, "sqrt.approx.ftz.f32 %0, %0;")
BOTH(ex2, float, "f", 64, "ex2.approx.ftz.f32 %0, %0;")
BOTH(lg2, float, "f", 64, "lg2.approx.ftz.f32 %0, %0;")
BOTH(sin, float, "f", 64, "sin.approx.ftz.f32 %0, %0;")
BOTH(cos, float, "f", 64, "cos.approx.ftz.f32 %0, %0;")
BOTH(tanh, float, "f", 64, "tanh.approx.f32 %0, %0;")
BOTH(rcp_rn, float, "f", 16, "rcp.rn.f32 %0, %0;")
BOTH(sqrt_rn, float, "f", 16, "sqrt.rn.f32 %0, %0;")
BOTH(ddiv, double, "d", 16, "div.rn.f64 %0, %1, %0;")
BOTH(dsqrt, double, "d", 16, "sqrt.rn.f64 %0, %0;")

// Conversions there and back, two instructions each.
BOTH(cvt_s32, int, "r", 64, "{ .reg .f32 x; cvt.rn.f32.s32 x, %0; cvt.rzi.s32.f32 %0, x; }")
BOTH(cvt_f64, double, "d", 64, "{ .reg .f32 x; cvt.rn.f32.f64 x, %0; cvt.f64.f32 %0, x; }")
BOTH(cvt_f16, float, "f", 64, "{ .reg .b16 x; cvt.rn.f16.f32 x, %0; cvt.f32.f16 %0, x; }")
BOTH(cvt_s32_f64, double, "d", 64, "{ .reg .s32 x; cvt.rzi.s32.f64 x, %0; cvt.rn.f64.s32 %0, x; }")
#if __CUDA_ARCH__ >= 800
BOTH(cvt_bf16, float, "f", 64, "{ .reg .b16 x; cvt.rn.bf16.f32 x, %0; mov.b32 %0, {x, x}; }")
#endif

// Exchanges between the lanes of a warp.
BOTH(shfl, unsigned, "r", 64, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;")
BOTH(shfl_idx, unsigned, "r", 64, "shfl.sync.idx.b32 %0, %1, %0, 31, -1;")
BOTH(vote, unsigned, "r", 64, "{ .reg .pred p; setp.lt.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, -1; }")
BOTH(match, unsigned, "r", 16, "match.any.sync.b32 %0, %0, -1;")
#if __CUDA_ARCH__ >= 800
BOTH(redux_add, unsigned, "r", 64, "redux.sync.add.u32 %0, %0, -1;")
BOTH(redux_min, unsigned, "r", 64, "redux.sync.min.u32 %0, %0, -1;")
#endif

// Only the first `lanes` lanes of a warp take part.
#define MASKED(NAME, TYPE, C, INSTRUCTION)                                                          \
    KERNEL masked_##NAME(u64 *out, TYPE step, int rounds, int lanes)                                \
    {                                                                                               \
        TYPE lane = (TYPE)(threadIdx.x % 32), a = step + lane, s = step - lane, t = step + step + lane; \
        u64 cycles = 0;                                                                             \
        if (threadIdx.x % 32 < lanes) {                                                             \
            u64 start = now();                                                                      \
            ROUNDS { TIMES64(asm volatile(INSTRUCTION : "+" C(a) : C(s), C(t));) }                  \
            cycles = now() - start;                                                                 \
        }                                                                                           \
        tell(out, cycles, bits(a));                                                                 \
    }

MASKED(fadd, float, "f", "add.rn.f32 %0, %0, %1;")
MASKED(dfma, double, "d", "fma.rn.f64 %0, %0, %1, %2;")
MASKED(rsqrt, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")

// Barriers of the block, and fences with and without a store before each.
#define FENCES(NAME, N, INSTRUCTION)                                                 \
    KERNEL latency_##NAME(u64 *out, unsigned *words, int rounds)                     \
    {                                                                                \
        unsigned *word = words + blockIdx.x * blockDim.x + threadIdx.x;              \
        __syncthreads();                                                             \
        u64 start = now();                                                           \
        ROUNDS { TIMES##N(asm volatile(INSTRUCTION ::"l"(word), "r"(round) : "memory");) } \
        tell(out, now() - start, rounds);                                            \
    }

FENCES(barrier, 16, "bar.sync 0;")
FENCES(fence_cta, 16, "membar.cta;")
FENCES(fence_gpu, 16, "membar.gl;")
FENCES(fence_system, 16, "membar.sys;")
FENCES(store_fence_cta, 16, "st.global.u32 [%0], %1; membar.cta;")
FENCES(store_fence_gpu, 16, "st.global.u32 [%0], %1; membar.gl;")
FENCES(store_fence_system, 16, "st.global.u32 [%0], %1; membar.sys;")

// Each load of shared memory brings the address of the next one, which is its own. Lanes are `stride` bytes apart.
#define SHARED(NAME, BODY)                                                                    \
    KERNEL latency_##NAME(u64 *out, unsigned stride, int rounds)                              \
    {                                                                                         \
        __shared__ __align__(16) unsigned words[4096];                                        \
        unsigned base = (unsigned)__cvta_generic_to_shared(words);                            \
        unsigned at = (stride * (threadIdx.x % 32)) & 16380;                                  \
        for (unsigned word = threadIdx.x; word < 4096; word += blockDim.x)                    \
            words[word] = 0;                                                                  \
        __syncthreads();                                                                      \
        words[at / 4] = base + at;                                                            \
        at += base;                                                                           \
        __syncthreads();                                                                      \
        u64 start = now();                                                                    \
        ROUNDS { TIMES64(BODY) }                                                              \
        tell(out, now() - start, at - base);                                                  \
    }

SHARED(ld_shared, asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at)::"memory");)
SHARED(ld_shared_64, asm volatile("{ .reg .u32 x; ld.volatile.shared.v2.u32 {%0, x}, [%0]; }" : "+r"(at)::"memory");)
SHARED(ld_shared_128, asm volatile("{ .reg .u32 x, y, z; ld.volatile.shared.v4.u32 {%0, x, y, z}, [%0]; }" : "+r"(at)::"memory");)
SHARED(st_ld_shared, asm volatile("st.volatile.shared.u32 [%0], %0; ld.volatile.shared.u32 %0, [%0];" : "+r"(at)::"memory");)

// The first `lanes` lanes load.
KERNEL masked_ld_shared(u64 *out, unsigned stride, int rounds, int lanes)
{
    __shared__ unsigned words[4096];
    unsigned base = (unsigned)__cvta_generic_to_shared(words), at = stride * (threadIdx.x % 32) & 16380;
    words[at / 4] = base + at;
    at += base;
    __syncthreads();
    u64 cycles = 0;
    if (threadIdx.x % 32 < lanes) {
        u64 start = now();
        ROUNDS { TIMES64(asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at)::"memory");) }
        cycles = now() - start;
    }
    tell(out, cycles, at - base);
}

// Additions of a word of shared memory: what one instruction did on the chips of the paper. The words are zero.
KERNEL latency_add_shared(u64 *out, unsigned stride, int rounds)
{
    __shared__ unsigned words[4096];
    for (unsigned word = threadIdx.x; word < 4096; word += blockDim.x)
        words[word] = 0;
    unsigned base = (unsigned)__cvta_generic_to_shared(words), at = base + (stride * (threadIdx.x % 32) & 16380);
    __syncthreads();
    u64 start = now();
    ROUNDS { TIMES64(asm volatile("{ .reg .u32 x; ld.volatile.shared.u32 x, [%0]; add.u32 %0, %0, x; }" : "+r"(at)::"memory");) }
    tell(out, now() - start, at - base);
}

// Rows of a matrix of 16-bit numbers; words 0 to 31 are the addresses of 32 rows, so that each lane gets its own again.
#define MATRIX(NAME, INSTRUCTION)                                                       \
    KERNEL latency_##NAME(u64 *out, unsigned unused, int rounds)                        \
    {                                                                                   \
        __shared__ __align__(16) unsigned words[128];                                   \
        unsigned base = (unsigned)__cvta_generic_to_shared(words);                      \
        for (unsigned word = threadIdx.x; word < 128; word += blockDim.x)               \
            words[word] = base + 16 * (word % 32);                                      \
        unsigned at = base + 16 * (threadIdx.x % 32);                                   \
        __syncthreads();                                                                \
        u64 start = now();                                                              \
        ROUNDS { TIMES64(asm volatile(INSTRUCTION : "+r"(at)::"memory");) }             \
        tell(out, now() - start, at - base);                                            \
    }

MATRIX(ldmatrix_x1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%0];")
MATRIX(ldmatrix_x2, "{ .reg .b32 x; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, x}, [%0]; }")
MATRIX(ldmatrix_x4, "{ .reg .b32 x, y, z; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, x, y, z}, [%0]; }")

// Loads of words of constant memory, which are zero, `stride` bytes apart and round `mask` + 1 bytes.
__constant__ unsigned constants[16384];

KERNEL latency_ld_const(u64 *out, unsigned stride, unsigned mask, int rounds)
{
    unsigned base;
    asm volatile("{ .reg .u64 x; mov.u64 x, constants; cvt.u32.u64 %0, x; }" : "=r"(base));
    unsigned at = (threadIdx.x / 1024) * stride, value = constants[at / 4] + threadIdx.x / 1024;
    __syncthreads();
    u64 start = now();
    ROUNDS
    {
        TIMES64(asm volatile("ld.const.u32 %0, [%1];" : "=r"(value) : "r"(base + at) : "memory");
                at = (at + stride + value) & mask;)
    }
    tell(out, now() - start, at);
}

// Each load of device memory brings its own address. Lanes are `spread` bytes apart.
#define GLOBAL(NAME, INSTRUCTION)                                                    \
    KERNEL latency_##NAME(u64 *out, u64 *words, unsigned spread, int rounds)         \
    {                                                                                \
        u64 at = (u64)__cvta_generic_to_global((char *)words + spread * (threadIdx.x % 32)); \
        asm volatile("st.global.u64 [%0], %0;" ::"l"(at) : "memory");                \
        __threadfence();                                                             \
        __syncthreads();                                                             \
        asm volatile(INSTRUCTION : "+l"(at)::"memory");                              \
        u64 start = now();                                                           \
        ROUNDS { TIMES16(asm volatile(INSTRUCTION : "+l"(at)::"memory");) }          \
        tell(out, now() - start, at - (u64)words);                                   \
    }

GLOBAL(ld_global_l1, "ld.global.u64 %0, [%0];")
GLOBAL(ld_global_l2, "ld.global.cg.u64 %0, [%0];")
GLOBAL(ld_generic_l1, "ld.u64 %0, [%0];")
GLOBAL(st_ld_global, "st.global.u64 [%0], %0; ld.global.ca.u64 %0, [%0];")

// Each load of the stack brings its own address.
KERNEL latency_ld_local(u64 *out, unsigned which, int rounds)
{
    unsigned words[16];
    unsigned at = (unsigned)__cvta_generic_to_local(words + which % 16);
    asm volatile("st.local.u32 [%0], %0;" ::"r"(at) : "memory");
    __syncthreads();
    u64 start = now();
    ROUNDS { TIMES16(asm volatile("ld.local.u32 %0, [%0];" : "+r"(at)::"memory");) }
    tell(out, now() - start, at);
}

// What an atomic returns is what the next one adds. Lanes are `spread` bytes apart; 0 is one word for all.
#define SHARED_ATOMIC(NAME, TYPE, C, INSTRUCTION)                                                        \
    KERNEL latency_##NAME(u64 *out, TYPE step, unsigned spread, int rounds)                              \
    {                                                                                                    \
        __shared__ u64 words[2048];                                                                      \
        for (unsigned word = threadIdx.x; word < 2048; word += blockDim.x)                               \
            words[word] = 0;                                                                             \
        unsigned at = (unsigned)__cvta_generic_to_shared(words) + (spread * (threadIdx.x % 32) & 16383); \
        TYPE value = step + (TYPE)(threadIdx.x % 32);                                                    \
        __syncthreads();                                                                                 \
        u64 start = now();                                                                               \
        ROUNDS { TIMES16(asm volatile(INSTRUCTION : "+" C(value) : "r"(at) : "memory");) }               \
        tell(out, now() - start, bits(value));                                                           \
    }

SHARED_ATOMIC(atom_shared_add, unsigned, "r", "atom.shared.add.u32 %0, [%1], %0;")
SHARED_ATOMIC(atom_shared_add_f32, float, "f", "atom.shared.add.f32 %0, [%1], %0;")
SHARED_ATOMIC(atom_shared_exch, unsigned, "r", "atom.shared.exch.b32 %0, [%1], %0;")
SHARED_ATOMIC(atom_shared_cas, unsigned, "r", "atom.shared.cas.b32 %0, [%1], %0, 7;")
SHARED_ATOMIC(red_shared_add, unsigned, "r", "red.shared.add.u32 [%1], %0;")

#define GLOBAL_ATOMIC(NAME, TYPE, C, INSTRUCTION)                                                    \
    KERNEL latency_##NAME(u64 *out, TYPE *words, TYPE step, unsigned spread, int rounds)             \
    {                                                                                                \
        u64 at = (u64)__cvta_generic_to_global((char *)words + spread * (threadIdx.x % 32));         \
        TYPE value = step + (TYPE)(threadIdx.x % 32);                                                \
        __syncthreads();                                                                             \
        u64 start = now();                                                                           \
        ROUNDS { TIMES16(asm volatile(INSTRUCTION : "+" C(value) : "l"(at) : "memory");) }           \
        tell(out, now() - start, bits(value));                                                       \
    }

GLOBAL_ATOMIC(atom_global_add, unsigned, "r", "atom.global.add.u32 %0, [%1], %0;")
GLOBAL_ATOMIC(atom_global_add_f32, float, "f", "atom.global.add.f32 %0, [%1], %0;")
GLOBAL_ATOMIC(atom_global_exch, unsigned, "r", "atom.global.exch.b32 %0, [%1], %0;")
GLOBAL_ATOMIC(red_global_add, unsigned, "r", "red.global.add.u32 [%1], %0;")

#if __CUDA_ARCH__ >= 800
// A copy of 16 bytes per lane to shared memory, and the wait for it.
KERNEL latency_cp_async(u64 *out, const uint4 *words, int rounds)
{
    __shared__ uint4 copies[1024];
    unsigned to = (unsigned)__cvta_generic_to_shared(copies + threadIdx.x);
    u64 from = (u64)__cvta_generic_to_global(words + blockIdx.x * blockDim.x + threadIdx.x);
    __syncthreads();
    u64 start = now();
    ROUNDS
    {
        TIMES16(asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group; cp.async.wait_group 0;"
                             ::"r"(to), "l"(from) : "memory");)
    }
    u64 end = now();
    tell(out, end - start, copies[threadIdx.x].x);
}

// Matrix products. A chain waits for its accumulators; the other kernel has four of them beside each other.
#define MMA_4(INSTRUCTION, D, C) \
    asm volatile(INSTRUCTION : "+" C(D[0]), "+" C(D[1]), "+" C(D[2]), "+" C(D[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));

#define MMA(NAME, TYPE, C, INSTRUCTION)                                                        \
    KERNEL latency_##NAME(u64 *out, unsigned step, int rounds)                                 \
    {                                                                                          \
        unsigned lane = threadIdx.x % 32;                                                      \
        unsigned a0 = step * lane, a1 = a0 + step, a2 = a1 + step, a3 = a2 + step, b0 = a3 + step, b1 = b0 + step; \
        TYPE d[4] = {(TYPE)lane, (TYPE)step, (TYPE)lane, (TYPE)step};                          \
        __syncthreads();                                                                       \
        u64 start = now();                                                                     \
        ROUNDS { TIMES16(MMA_4(INSTRUCTION, d, C)) }                                           \
        u64 end = now();                                                                       \
        tell(out, end - start, bits(d[0]) ^ bits(d[1]) ^ bits(d[2]) ^ bits(d[3]));             \
    }                                                                                          \
    KERNEL throughput_##NAME(u64 *out, unsigned step, int rounds)                              \
    {                                                                                          \
        unsigned lane = threadIdx.x % 32;                                                      \
        unsigned a0 = step * lane, a1 = a0 + step, a2 = a1 + step, a3 = a2 + step, b0 = a3 + step, b1 = b0 + step; \
        TYPE d[4] = {(TYPE)lane, (TYPE)step, (TYPE)lane, (TYPE)step};                          \
        TYPE e[4] = {(TYPE)a0, (TYPE)step, (TYPE)a0, (TYPE)step};                              \
        TYPE f[4] = {(TYPE)a1, (TYPE)step, (TYPE)a1, (TYPE)step};                              \
        TYPE g[4] = {(TYPE)a2, (TYPE)step, (TYPE)a2, (TYPE)step};                              \
        __syncthreads();                                                                       \
        u64 start = now();                                                                     \
        ROUNDS { TIMES4(MMA_4(INSTRUCTION, d, C) MMA_4(INSTRUCTION, e, C) MMA_4(INSTRUCTION, f, C) MMA_4(INSTRUCTION, g, C)) } \
        u64 end = now();                                                                       \
        u64 value = 0;                                                                         \
        for (int at = 0; at < 4; at++)                                                         \
            value ^= bits(d[at]) ^ bits(e[at]) ^ bits(f[at]) ^ bits(g[at]);                    \
        tell(out, end - start, value);                                                         \
    }

#define REGISTERS "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
MMA(mma_f16, float, "f", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " REGISTERS)
MMA(mma_bf16, float, "f", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " REGISTERS)
MMA(mma_tf32, float, "f", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " REGISTERS)
MMA(mma_s8, int, "r", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " REGISTERS)

#define MMA_F64(D0, D1) \
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(D0), "+d"(D1) : "d"(a), "d"(b));

KERNEL latency_mma_f64(u64 *out, double step, int rounds)
{
    double a = step * (threadIdx.x % 32), b = a + step, d = b + step, d2 = d + step;
    __syncthreads();
    u64 start = now();
    ROUNDS { TIMES16(MMA_F64(d, d2)) }
    u64 end = now();
    tell(out, end - start, bits(d) ^ bits(d2));
}

KERNEL throughput_mma_f64(u64 *out, double step, int rounds)
{
    double a = step * (threadIdx.x % 32), b = a + step, d = b + step, d2 = d + step;
    double e = d2 + step, e2 = e + step, f = e2 + step, f2 = f + step, g = f2 + step, g2 = g + step;
    __syncthreads();
    u64 start = now();
    ROUNDS { TIMES4(MMA_F64(d, d2) MMA_F64(e, e2) MMA_F64(f, f2) MMA_F64(g, g2)) }
    u64 end = now();
    tell(out, end - start, bits(d) ^ bits(d2) ^ bits(e) ^ bits(e2) ^ bits(f) ^ bits(f2) ^ bits(g) ^ bits(g2));
}
#endif
