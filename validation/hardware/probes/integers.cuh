// Inputs for instructions on integers: any, small, close to zero or to where signs change, and with few digits.
#pragma once
#include "probe.cuh"

__device__ inline uint32_t whole(uint32_t index, uint32_t salt) {
    uint32_t h = mix(index * 8 + salt), x = mix(h + 1), small = h >> 8 & 63;
    if ((h & 7) == 0) x = (small & 3) - 1;
    if ((h & 7) == 1) x = 0x80000000u - (small & 1);
    if ((h & 7) == 2) x = small;
    if ((h & 7) == 3) x >>= small & 31;
    if ((h & 15) == 4) x = -small;
    if ((h & 15) == 12) x = ~(x >> (small & 31));
    return x;
}
__device__ inline uint64_t long_whole(uint32_t index, uint32_t salt) {
    uint32_t h = mix(index * 8 + salt + 99);
    uint64_t x = uint64_t(mix(h + 1)) << 32 | mix(h + 2);
    if ((h & 7) == 0) x = uint64_t(h >> 8 & 3) - 1;
    if ((h & 7) == 1) x = 0x8000000000000000ull - (h >> 8 & 1);
    if ((h & 7) == 2) x >>= h >> 8 & 63;
    if ((h & 7) == 3) x = int64_t(x) >> (h >> 8 & 63);
    if ((h & 7) == 4) x = h >> 8 & 127;
    return x;
}
