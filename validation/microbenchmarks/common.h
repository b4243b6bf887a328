// What all micro-benchmarks share: repetition, clock reads, and where a warp tells what it has measured.
#pragma once

typedef unsigned long long u64;

#define TIMES1(...) __VA_ARGS__
#define TIMES2(...) __VA_ARGS__ __VA_ARGS__
#define TIMES4(...) TIMES2(__VA_ARGS__) TIMES2(__VA_ARGS__)
#define TIMES8(...) TIMES4(__VA_ARGS__) TIMES4(__VA_ARGS__)
#define TIMES16(...) TIMES8(__VA_ARGS__) TIMES8(__VA_ARGS__)
#define TIMES32(...) TIMES16(__VA_ARGS__) TIMES16(__VA_ARGS__)
#define TIMES64(...) TIMES32(__VA_ARGS__) TIMES32(__VA_ARGS__)

#define KERNEL extern "C" __global__ void
#define ROUNDS _Pragma("unroll 1") for (int round = 0; round < rounds; round++)

__device__ __forceinline__ u64 now()
{
    u64 clock;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock)::"memory");
    return clock;
}

// Each warp has two words: the cycles between its clock reads, and a value that depends on all that it has done.
__device__ __forceinline__ void tell(u64 *out, u64 cycles, u64 value)
{
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        out[2 * warp] = cycles;
        out[2 * warp + 1] = value;
    }
}

__device__ __forceinline__ u64 bits(u64 value) { return value; }
__device__ __forceinline__ u64 bits(unsigned value) { return value; }
__device__ __forceinline__ u64 bits(int value) { return (unsigned)value; }
__device__ __forceinline__ u64 bits(unsigned short value) { return value; }
__device__ __forceinline__ u64 bits(float value) { return __float_as_uint(value); }
__device__ __forceinline__ u64 bits(double value) { return __double_as_longlong(value); }
