// The approximate functions over all signs and exponents, and densely around one.
#include "numbers.cuh"

// All exponents, 256 fractions each; then as many numbers with an exponent close to that of one.
__device__ inline uint32_t argument(uint32_t index) {
    if (index < 1 << 17) {
        uint32_t place = index >> 9, low = mix(index) & 0x7fff;
        if (place == 0 || place == 128) low = 0;
        if (place == 255) low = 0x7fff;
        return index << 23 | place << 15 | low;
    }
    uint32_t h = mix(index + 12345);
    return (mix(index) & 0x807fffffu) | (122 + h % 10) << 23;
}

// The arguments of the functions below.
extern "C" __global__ void arguments(uint32_t* out) { out[thread_index()] = argument(thread_index()); }

#define FUNCTION(name, text)                                                                                           \
    extern "C" __global__ void name(uint32_t* out) {                                                                   \
        uint32_t x = argument(thread_index()), y;                                                                      \
        asm volatile(text " %0, %1;" : "=r"(y) : "r"(x));                                                              \
        out[thread_index()] = y;                                                                                       \
    }
#define BOTH(name, op) FUNCTION(name##_f32, op ".approx.f32") FUNCTION(name##_ftz_f32, op ".approx.ftz.f32")
BOTH(rcp, "rcp")
BOTH(rsqrt, "rsqrt")
BOTH(sqrt, "sqrt")
BOTH(ex2, "ex2")
BOTH(lg2, "lg2")
BOTH(sin, "sin")
BOTH(cos, "cos")
FUNCTION(tanh_f32, "tanh.approx.f32")

#define QUOTIENT(name, text)                                                                                           \
    extern "C" __global__ void name(uint32_t* out) {                                                                   \
        uint32_t x = argument(thread_index()), y = Single::partner<1, 0>(x, thread_index()), z;                        \
        asm volatile(text " %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));                                                  \
        out[thread_index()] = z;                                                                                       \
    }
QUOTIENT(div_approx_f32, "div.approx.f32")
QUOTIENT(div_approx_ftz_f32, "div.approx.ftz.f32")
QUOTIENT(div_full_f32, "div.full.f32")
QUOTIENT(div_full_ftz_f32, "div.full.ftz.f32")

// The divisors of the quotients above.
extern "C" __global__ void divisors(uint32_t* out) {
    out[thread_index()] = Single::partner<1, 0>(argument(thread_index()), thread_index());
}

// All signs and exponents, 32 fractions each.
#define DOUBLE(name, text)                                                                                             \
    extern "C" __global__ void name(uint64_t* out) {                                                                   \
        uint32_t index = thread_index();                                                                               \
        uint64_t x = uint64_t(index) << 52 | uint64_t(index >> 12) << 47 | (Double::random(index) & 0x7fffffffffffull),\
                 y;                                                                                                    \
        if (index >> 12 == 0) x &= 0xfff0000000000000ull;                                                              \
        asm volatile(text " %0, %1;" : "=l"(y) : "l"(x));                                                              \
        out[index] = y;                                                                                                \
    }
DOUBLE(rcp_f64, "rcp.approx.ftz.f64")
DOUBLE(rsqrt_f64, "rsqrt.approx.f64")
DOUBLE(rsqrt_ftz_f64, "rsqrt.approx.ftz.f64")
DOUBLE(arguments_f64, "mov.b64")

// All numbers of 16 bits.
#define SMALL(name, text)                                                                                              \
    extern "C" __global__ void name(uint16_t* out) {                                                                   \
        uint16_t x = thread_index(), y;                                                                                \
        asm volatile(text " %0, %1;" : "=h"(y) : "h"(x));                                                              \
        out[thread_index()] = y;                                                                                       \
    }
#define TWO(name, text)                                                                                                \
    extern "C" __global__ void name(uint32_t* out) {                                                                   \
        uint32_t x = (thread_index() & 0xffff) | mix(thread_index()) << 16, y;                                         \
        asm volatile(text " %0, %1;" : "=r"(y) : "r"(x));                                                              \
        out[thread_index()] = y;                                                                                       \
    }
SMALL(ex2_f16, "ex2.approx.f16")
TWO(ex2_f16x2, "ex2.approx.f16x2")
SMALL(ex2_bf16, "ex2.approx.ftz.bf16")
TWO(ex2_bf16x2, "ex2.approx.ftz.bf16x2")
SMALL(tanh_f16, "tanh.approx.f16")
TWO(tanh_f16x2, "tanh.approx.f16x2")
SMALL(tanh_bf16, "tanh.approx.bf16")
TWO(tanh_bf16x2, "tanh.approx.bf16x2")
