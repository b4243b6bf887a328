// Numbers by the generators of cuRAND's device library.

#include <curand_kernel.h>

// Points in a quarter of a disc, by Philox: the count is exact, whatever the order.
extern "C" __global__ void __launch_bounds__(256) random_disc(unsigned long long seed, int per_thread,
    unsigned *counts, uint4 *first)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, thread, 0, &state);
    first[thread] = curand4(&state);
    unsigned count = 0;
    for (int i = 0; i < per_thread; ++i) {
        const uint4 bits = curand4(&state);
        const unsigned long long x = bits.x >> 16, y = bits.y >> 16;
        count += x * x + y * y < 1ull << 32;
    }
    atomicAdd(&counts[blockIdx.x], count);
}

// The words of XORWOW from a sequence's start, and what Box and Muller make of uniform numbers.
extern "C" __global__ void __launch_bounds__(128) random_xorwow(unsigned long long seed, unsigned *words,
    float *uniform, float2 *normal)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    curandStateXORWOW_t state;
    curand_init(seed + thread, 0, 0, &state);
    words[thread * 2] = curand(&state);
    words[thread * 2 + 1] = curand(&state);
    uniform[thread] = curand_uniform(&state);
    normal[thread] = curand_normal2(&state);
}
