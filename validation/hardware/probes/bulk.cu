// Reductions of whole pieces of memory, from shared into global memory; each block has its own piece.
#include "integers.cuh"
#include "numbers.cuh"

#define REDUCE(name, T, X, Y, text)                                                                                    \
    extern "C" __global__ void name(T* place, T* in) {                                                                 \
        __shared__ alignas(128) T near[256];                                                                           \
        uint32_t index = thread_index(), count = thread_count();                                                       \
        T x = X, y = Y;                                                                                                \
        in[index] = x, in[index + count] = y;                                                                          \
        place[index] = x, near[threadIdx.x] = y;                                                                       \
        asm volatile("fence.proxy.async;" ::: "memory");                                                               \
        __syncthreads();                                                                                               \
        if (threadIdx.x == 0) {                                                                                        \
            uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(near));                                     \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." text " [%0], [%1], %2;"                 \
                         ::"l"(__cvta_generic_to_global(place + index)), "r"(here), "n"(256 * sizeof(T))               \
                         : "memory");                                                                                  \
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");                     \
        }                                                                                                              \
        __syncthreads();                                                                                               \
    }
#define NUMBERS(name, T, Kind, text)                                                                                   \
    REDUCE(name, T, (Kind::operand<6, 256>(index)), (Kind::partner<1, 256>(x, index)), text)
NUMBERS(add_f32, uint32_t, Single, "add.f32")
NUMBERS(add_f64, uint64_t, Double, "add.f64")
NUMBERS(add_f16, uint16_t, Half, "add.noftz.f16")
NUMBERS(add_bf16, uint16_t, Brain, "add.noftz.bf16")
NUMBERS(min_f16, uint16_t, Half, "min.f16")
NUMBERS(max_bf16, uint16_t, Brain, "max.bf16")

#define INTEGERS(name, text) REDUCE(name, uint32_t, whole(index, 1), whole(index, 2), text)
INTEGERS(add_u32, "add.u32")
INTEGERS(min_s32, "min.s32")
INTEGERS(max_u32, "max.u32")
INTEGERS(inc_u32, "inc.u32")
INTEGERS(dec_u32, "dec.u32")
INTEGERS(xor_b32, "xor.b32")
REDUCE(min_s64, uint64_t, long_whole(index, 1), long_whole(index, 2), "min.s64")
REDUCE(max_u64, uint64_t, long_whole(index, 1), long_whole(index, 2), "max.u64")
