// Inputs for instructions of one thread: numbers swept by index, and partners for them.
#pragma once
#include "probe.cuh"

template <typename Word, int E, int M>
struct Format {
    using Bits = Word;
    static constexpr Word FRACTION = (Word(1) << M) - 1, SIGN = Word(Word(1) << (E + M));
    static constexpr int BIAS = (1 << (E - 1)) - 1, TOP = (1 << E) - 1;

    static __device__ inline Word random(uint32_t seed) {
        if (sizeof(Word) == 8) return Word(mix(seed) | uint64_t(mix(seed ^ 0x9e3779b9u)) << 32);
        return Word(mix(seed));
    }

    // Of each sign: zero, the denormals at both ends, the smallest normal one, the largest, infinity, two NaN.
    static __device__ inline Word special(uint32_t which) {
        constexpr Word ONE = FRACTION + 1, INFINITE = TOP * ONE, PAYLOAD = Word(0x2a55) & FRACTION >> 2;
        uint32_t place = which >> 1 & 7;
        Word table = place == 1 ? 1 : 0;
        if (place == 2) table = FRACTION;
        if (place == 3) table = ONE;
        if (place == 4) table = INFINITE - 1;
        if (place >= 5) table = INFINITE;
        if (place == 6) table |= ONE >> 1 | PAYLOAD;
        if (place == 7) table |= PAYLOAD | 1;
        return table | (which & 1 ? SIGN : 0);
    }

    // All signs and exponents in turn; fractions of few digits, halfway between two such, or next to that.
    static __device__ inline Word swept(uint32_t index) {
        uint32_t h = mix(index + 0x51ed270bu), round = index >> (E + 1);
        Word fraction = random(index * 2 + 1);
        if (round & 7) {
            uint32_t cut = h % (M + 1);
            Word half = (Word(1) << cut) >> 1;
            fraction &= ~((Word(1) << cut) - 1);
            fraction += h >> 16 & 1 ? half : 0;
            if (round & 2) fraction += (h >> 17 & 3) == 0 ? 1 : (h >> 17 & 3) == 1 ? -1 : 0;
        }
        return Word(Word(index) << M & (SIGN | SIGN - 1)) & ~FRACTION | (fraction & FRACTION);
    }

    // As above, but every other one within 2^-RANGE and 2^RANGE, and SPECIAL special ones first.
    template <int RANGE, int SPECIAL = 32>
    static __device__ inline Word operand(uint32_t index) {
        Word x = swept(index);
        uint32_t h = mix(index + 0x2545f491u);
        if (index >> (E + 1) & 1) x = (x & (SIGN | FRACTION)) | Word(BIAS - RANGE + h % (2 * RANGE)) << M;
        return int(index) < SPECIAL ? special(index) : x;
    }

    // Operand PLACE (from 0) for x, the first one: any bits, close by or as far as its digits reach, special, close to
    // one; with the SPECIAL ones above all combinations of special ones.
    template <int PLACE, int SPECIAL>
    static __device__ inline Word partner(Word x, uint32_t index) {
        uint32_t h = mix(index * 4 + PLACE);
        Word y = random(h + 1);
        if ((h & 3) == 1) y = (x ^ (y & (SIGN | FRACTION))) + (Word(h >> 8 & 0xff) % (M + 3) << M) - (Word(M / 2) << M);
        if ((h & 3) == 2) y = (y & (SIGN | FRACTION)) | Word(BIAS - 1 + (h >> 8 & 1)) << M;
        if ((h & 15) == 3) y = x ^ (h & 0x100 ? SIGN : 0);
        if (int(index) < SPECIAL) return special(index >> 4 * PLACE);
        return (h & 15) == 7 ? special(h >> 8) : y;
    }
};

using Single = Format<uint32_t, 8, 23>;
using Double = Format<uint64_t, 11, 52>;
using Half = Format<uint16_t, 5, 10>;
using Brain = Format<uint16_t, 8, 7>;

// Two of 16 bits in a word.
template <typename Part>
struct Pair {
    using Bits = uint32_t;
    template <int RANGE, int SPECIAL = 32>
    static __device__ inline uint32_t operand(uint32_t index) {
        uint32_t upper = Part::template operand<RANGE, SPECIAL>(mix(index));
        return Part::template operand<RANGE, SPECIAL>(index) | upper << 16;
    }
    template <int PLACE, int SPECIAL>
    static __device__ inline uint32_t partner(uint32_t x, uint32_t index) {
        uint32_t upper = Part::template partner<PLACE, SPECIAL>(x >> 16, mix(index));
        return Part::template partner<PLACE, SPECIAL>(uint16_t(x), index) | upper << 16;
    }
};
using Halves = Pair<Half>;
using Brains = Pair<Brain>;

#define REGISTER_uint16_t "h"
#define REGISTER_uint32_t "r"
#define REGISTER_uint64_t "l"
#define OF(type) REGISTER_##type
