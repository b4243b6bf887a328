// Products that four warps make together, of factors in shared memory and in registers.
#include "probe.cuh"

// No exchange of pieces: bytes from one piece to the next along the depth, and from eight rows to the next eight.
__device__ inline uint64_t descriptor(const void* place, uint32_t leading, uint32_t stride) {
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(place));
    return (address & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32;
}

__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wait() {
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// A group of warps makes a tile; 128 tiles combine all kinds of factors.
#define GROUP_A (blockIdx.x & 7)
#define GROUP_B (blockIdx.x >> 3 & 7)
#define GROUP_C (blockIdx.x % 5 == 1 ? 8 : blockIdx.x * 3 / 8 & 7)

// D words of sums, 64 rows and 32 bytes of depth of the first factor, 16 columns of the second one.
#define GROUP(name, D, Sums, Left, Right, text, shared_tail, held_tail)                                                \
    extern "C" __global__ void name##_shared(uint32_t* out, uint32_t* in) {                                            \
        __shared__ alignas(1024) uint32_t left[512], right[128];                                                       \
        uint32_t a[4], b[1], c[D];                                                                                     \
        fill<Left, Right>(a, b, in, GROUP_A, GROUP_B), fill<Sums>(c, in, 5, GROUP_C);                                  \
        for (int i = 0; i < 4; i++) left[i * 128 + threadIdx.x] = a[i];                                                \
        right[threadIdx.x] = b[0];                                                                                     \
        asm volatile("fence.proxy.async;" ::: "memory");                                                               \
        __syncthreads();                                                                                               \
        fence();                                                                                                       \
        asm volatile("wgmma.mma_async.sync.aligned." text " {" SUMS_##D ", 1" shared_tail ";"                          \
                     : BOTH##D(c)                                                                                      \
                     : "l"(descriptor(left, 1024, 128)), "l"(descriptor(right, 256, 128)));                            \
        wait();                                                                                                        \
        store(out, c);                                                                                                 \
    }                                                                                                                  \
    extern "C" __global__ void name##_registers(uint32_t* out, uint32_t* in) {                                         \
        __shared__ alignas(1024) uint32_t right[128];                                                                  \
        uint32_t a[4], b[1], c[D];                                                                                     \
        fill<Left, Right>(a, b, in, GROUP_A, GROUP_B), fill<Sums>(c, in, 5, GROUP_C);                                  \
        right[threadIdx.x] = b[0];                                                                                     \
        asm volatile("fence.proxy.async;" ::: "memory");                                                               \
        __syncthreads();                                                                                               \
        fence();                                                                                                       \
        asm volatile("wgmma.mma_async.sync.aligned." text " {" HELD_##D ", 1" held_tail ";"                            \
                     : BOTH##D(c)                                                                                      \
                     : READ4(a), "l"(descriptor(right, 256, 128)));                                                    \
        wait();                                                                                                        \
        store(out, c);                                                                                                 \
    }
#define SUMS_8 "%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9"
#define SUMS_4 "%0, %1, %2, %3}, %4, %5"
#define HELD_8 "%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12"
#define HELD_4 "%0, %1, %2, %3}, {%4, %5, %6, %7}, %8"

GROUP(m64n16k16_f16_f32, 8, F32, F16, F16, "m64n16k16.f32.f16.f16", ", 1, 1, 0, 0", ", 1, 1, 0")
GROUP(m64n16k16_f16_f16, 4, F16, F16, F16, "m64n16k16.f16.f16.f16", ", 1, 1, 0, 0", ", 1, 1, 0")
GROUP(m64n16k16_bf16_f32, 8, F32, Bf16, Bf16, "m64n16k16.f32.bf16.bf16", ", 1, -1, 0, 0", ", -1, 1, 0")
GROUP(m64n16k8_tf32, 8, F32, Tf32, Tf32, "m64n16k8.f32.tf32.tf32", ", 1, 1", ", 1, 1")
GROUP(m64n16k32_e4m3_e4m3_f32, 8, F32, E4m3, E4m3, "m64n16k32.f32.e4m3.e4m3", ", 1, 1", ", 1, 1")
GROUP(m64n16k32_e5m2_e4m3_f32, 8, F32, E5m2, E4m3, "m64n16k32.f32.e5m2.e4m3", ", 1, 1", ", 1, 1")
GROUP(m64n16k32_e5m2_e5m2_f32, 8, F32, E5m2, E5m2, "m64n16k32.f32.e5m2.e5m2", ", 1, 1", ", 1, 1")
GROUP(m64n16k32_e4m3_e4m3_f16, 4, F16, E4m3, E4m3, "m64n16k32.f16.e4m3.e4m3", ", 1, 1", ", 1, 1")
GROUP(m64n16k32_e4m3_e5m2_f16, 4, F16, E4m3, E5m2, "m64n16k32.f16.e4m3.e5m2", ", 1, 1", ", 1, 1")
GROUP(m64n16k32_s8, 8, Total, Bits, Bits, "m64n16k32.s32.s8.s8", "", "")
GROUP(m64n16k32_u8_s8_clamped, 8, Total, Bits, Bits, "m64n16k32.s32.u8.s8.satfinite", "", "")
GROUP(m64n16k256_b1, 8, Total, Bits, Bits, "m64n16k256.s32.b1.b1.and.popc", "", "")
