// What the probes share: inputs made from the place of a thread, and buffers [word][thread].
#pragma once
#include <cstdint>
#include <type_traits>

__device__ inline uint32_t mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

__device__ inline uint32_t thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline uint32_t thread_count() { return gridDim.x * blockDim.x; }

// A number with E exponent bits and M fraction bits of one of eight kinds:
// 0 ordinary, 1 close to one, 2 far apart, 3 any finite one, 4 any bits, 5 ordinary with special ones, 6 tiny, 7 some
// larger than others by just the digits of the format. Kind 8 is zero.
template <typename Word, int E, int M>
__device__ inline Word number(uint32_t kind, uint32_t seed) {
    constexpr int BIAS = (1 << (E - 1)) - 1, TOP = (1 << E) - 1;
    constexpr Word FRACTION = (Word(1) << M) - 1;
    Word fraction = mix(seed);
    if (sizeof(Word) == 8) fraction |= Word(uint64_t(mix(seed ^ 0x9e3779b9u)) << 32);
    fraction &= FRACTION;
    uint32_t h = mix(seed + 0x3c6ef372u), exponent = 0;
    if (kind == 8) return 0;
    if (kind == 0 || kind == 5) exponent = BIAS - 3 + (h & 0xffff) % 6;
    if (kind == 1) exponent = BIAS - 1 + (h & 1);
    if (kind == 2) exponent = BIAS / 2 + (h & 0xffff) % BIAS;
    if (kind == 3) exponent = (h & 0xffff) % TOP;
    if (kind == 4) exponent = h & TOP;
    if (kind == 6) exponent = h & 3;
    if (kind == 7) {
        exponent = BIAS + (int(h & 7) - 3) * M / 4;
        if (h & 8) fraction &= ~(FRACTION >> 1);
        if ((h & 0x30) == 0x30) fraction = FRACTION;
    }
    if (kind == 5 && (h >> 16 & 15) == 0) {
        uint32_t which = h >> 20 & 7;
        exponent = which < 3 ? 0 : which < 6 ? TOP : which == 6 ? TOP - 1 : 1;
        if (which == 0 || which == 3 || which == 7) fraction = 0;
        if (which == 1) fraction = 1;
        if (which == 4) fraction |= Word(1) << (M - 1);
        if (which == 5) fraction = (fraction & FRACTION >> 1) | 1;
        if (which == 6) fraction = FRACTION;
    }
    return Word(h >> 31) << (E + M) | Word(exponent) << M | fraction;
}

// Words that hold numbers of a format side by side.
template <int E, int M>
struct Packed {
    static __device__ inline uint32_t word(uint32_t kind, uint32_t seed) {
        uint32_t word = 0;
#pragma unroll 1
        for (int place = 0; place < 32; place += 1 + E + M)
            word |= number<uint32_t, E, M>(kind, seed + place * 0x632be5abu) << place;
        return word;
    }
};

using F32 = Packed<8, 23>;
using F16 = Packed<5, 10>;
using Bf16 = Packed<8, 7>;
using E4m3 = Packed<4, 3>;
using E5m2 = Packed<5, 2>;

// Half the kinds of tiles have bits below those of the format.
struct Tf32 {
    static __device__ inline uint32_t word(uint32_t kind, uint32_t seed) {
        uint32_t word = F32::word(kind, seed);
        return kind & 1 ? word & 0xffffe000u : word;
    }
};

struct Bits {
    static __device__ inline uint32_t word(uint32_t kind, uint32_t seed) {
        uint32_t word = mix(seed);
        if (kind == 6) word &= mix(seed + 1) & mix(seed + 2);
        if (kind == 7) word |= mix(seed + 1) | mix(seed + 2);
        return word;
    }
};

// Sums of integers, many of them close to where they overflow.
struct Total {
    static __device__ inline uint32_t word(uint32_t kind, uint32_t seed) {
        uint32_t word = mix(seed);
        if (kind == 8) return 0;
        if (kind < 3) return 0x7fffffffu - (word & (0xffffu >> kind * 4));
        if (kind < 6) return 0x80000000u + (word & (0xffffu >> (kind - 3) * 4));
        return word;
    }
};

// Metadata of a sparse factor: of each four the places of two in ascending order, or the places of one of two.
struct TwoOfFour {
    static __device__ inline uint32_t word(uint32_t, uint32_t seed) {
        uint32_t word = 0;
#pragma unroll 1
        for (int place = 0; place < 32; place += 4) word |= (0xed9c84u >> mix(seed + place) % 6 * 4 & 15) << place;
        return word;
    }
};
struct OneOfTwo {
    static __device__ inline uint32_t word(uint32_t, uint32_t seed) {
        uint32_t word = 0;
#pragma unroll 1
        for (int place = 0; place < 32; place += 4) word |= (mix(seed + place) & 1 ? 0xeu : 0x4u) << place;
        return word;
    }
};

// Puts N words of this thread into rows FIRST, FIRST + 1 and so on of a buffer of inputs, and gets them.
template <typename Format, int N>
__device__ inline void fill(uint32_t (&words)[N], uint32_t* in, int first, uint32_t kind) {
    uint32_t* mine = in + first * thread_count() + thread_index();
#pragma unroll 1
    for (int i = 0; i < N; i++)
        mine[i * thread_count()] = Format::word(kind, mix((first + i) * 0x10001u + 77) + thread_index() * 0x9e3779b1u);
    for (int i = 0; i < N; i++) words[i] = mine[i * thread_count()];
}

// The same for two factors, with one piece of code where their formats agree.
template <typename Left, typename Right, int A, int B>
__device__ inline void fill(uint32_t (&a)[A], uint32_t (&b)[B], uint32_t* in, uint32_t kind_a, uint32_t kind_b) {
    if constexpr (std::is_same_v<Left, Right>) {
        uint32_t* mine = in + thread_index();
#pragma unroll 1
        for (int i = 0; i < A + B; i++) {
            uint32_t seed = mix(i * 0x10001u + 77) + thread_index() * 0x9e3779b1u;
            mine[i * thread_count()] = Left::word(i < A ? kind_a : kind_b, seed);
        }
        for (int i = 0; i < A; i++) a[i] = mine[i * thread_count()];
        for (int i = 0; i < B; i++) b[i] = mine[(A + i) * thread_count()];
    } else {
        fill<Left>(a, in, 0, kind_a), fill<Right>(b, in, A, kind_b);
    }
}

template <int N>
__device__ inline void store(uint32_t* out, const uint32_t (&words)[N]) {
    for (int i = 0; i < N; i++) out[i * thread_count() + thread_index()] = words[i];
}

// Operands of inline assembly.
#define READ1(x) "r"(x[0])
#define READ2(x) READ1(x), "r"(x[1])
#define READ4(x) READ2(x), "r"(x[2]), "r"(x[3])
#define BOTH2(x) "+r"(x[0]), "+r"(x[1])
#define BOTH4(x) BOTH2(x), "+r"(x[2]), "+r"(x[3])
#define BOTH8(x) BOTH4(x), "+r"(x[4]), "+r"(x[5]), "+r"(x[6]), "+r"(x[7])
#define LIST_8_2_2 " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7}"
#define LIST_4_2_2 " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}"
#define LIST_4_2_1 " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3}"
#define LIST_4_4_2 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}"
#define LIST_4_4_4 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}"
#define LIST_2_1_1 " {%0, %1}, {%2}, {%3}, {%0, %1}"
#define LIST_2_2_1 " {%0, %1}, {%2, %3}, {%4}, {%0, %1}"
#define LIST_2_2_2 " {%0, %1}, {%2, %3}, {%4, %5}, {%0, %1}"
#define LIST_2_4_2 " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1}"
#define LIST_2_4_4 " {%0, %1}, {%2, %3, %4, %5}, {%6, %7, %8, %9}, {%0, %1}"

// A warp makes a tile; 512 tiles combine all kinds of both factors and of the sums, one of which is zero.
#define KIND_A (thread_index() / 32 & 7)
#define KIND_B (thread_index() / 256 & 7)
#define KIND_C ((thread_index() / 2048 & 7) == 1 ? 8 : thread_index() / 2048 & 7)

// A product with D words of sums, A and B of factors per lane.
#define MMA(name, D, A, B, Sums, Left, Right, text)                                                                    \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        uint32_t a[A], b[B], c[D];                                                                                     \
        fill<Left, Right>(a, b, in, KIND_A, KIND_B), fill<Sums>(c, in, A + B, KIND_C);                                 \
        asm volatile(text LIST_##D##_##A##_##B ";" : BOTH##D(c) : READ##A(a), READ##B(b));                             \
        store(out, c);                                                                                                 \
    }
