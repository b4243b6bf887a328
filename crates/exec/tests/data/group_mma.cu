// Products that four warps carry out together: factors in shared memory with and without exchanged pieces, by rows and by
// columns, the first one also in registers; with changed signs, and bytes.
#include <cuda_fp16.h>
#include <cstdint>

__device__ uint32_t in_shared(const void* place) { return static_cast<uint32_t>(__cvta_generic_to_shared(place)); }

// Bytes between pieces, and the sort of exchange: 0 none, 1 rows of 128 bytes, 3 of 32.
__device__ uint64_t descriptor(uint32_t place, uint32_t leading, uint32_t stride, uint64_t swizzle) {
    return (place & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | swizzle << 62;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ void wait() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

__device__ void store(float* out, const float (&sums)[16], int n) {
    int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 16; i++) out[(row + i % 4 / 2 * 8) * n + i / 4 * 8 + column + i % 2] = sums[i];
}

#define SUMS(s)                                                                                                       \
    "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), "+f"(s[8]),      \
        "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15])
#define NUMBERS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"

extern "C" __global__ void group_mma(float* out, int* ints, const half* a, const half* b, const signed char* bytes) {
    __shared__ alignas(1024) unsigned char left[64 * 128], right[64 * 128];
    int t = threadIdx.x;
    // Rows of a, 64 by 64, and columns of b, 32 of them, each of 128 bytes with exchanged pieces.
    for (int i = t; i < 64 * 64; i += 128) {
        int line = i / 64, k = i % 64;
        int place = (line * 128 + k * 2) ^ line % 8 * 16;
        *reinterpret_cast<half*>(left + place) = a[i];
        if (line < 32) *reinterpret_cast<half*>(right + place) = b[i];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = 100.0f;
    fence();
    for (int step = 0; step < 4; step++) {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %18, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " NUMBERS ", %16, %17, p, 1, -1, 0, 0; }"
            : SUMS(sums)
            : "l"(descriptor(in_shared(left) + step * 32, 16, 1024, 1)),
              "l"(descriptor(in_shared(right) + step * 32, 16, 1024, 1)), "r"(step));
    }
    wait();
    store(out, sums, 32);
    __syncthreads();
    // b again, depth by depth: 32 of 64 elements of a row of 128 bytes; a in registers, its first 16 columns.
    for (int i = t; i < 16 * 64; i += 128) {
        int k = i / 64, column = i % 64;
        *reinterpret_cast<half*>(right + ((k * 128 + column * 2) ^ k % 8 * 16)) = b[column * 64 + k];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    uint32_t held[4];
    for (int i = 0; i < 4; i++) {
        int row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8, k = t % 4 * 2 + i / 2 * 8;
        held[i] = *reinterpret_cast<const uint32_t*>(a + row * 64 + k);
    }
    fence();
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " NUMBERS
                 ", {%16, %17, %18, %19}, %20, 1, 1, 1, 1;"
                 : SUMS(sums)
                 : "r"(held[0]), "r"(held[1]), "r"(held[2]), "r"(held[3]),
                   "l"(descriptor(in_shared(right), 4096, 1024, 1)));
    wait();
    store(out + 64 * 32, sums, 32);
    __syncthreads();
    // Bytes in pieces of eight rows one after the other: first all pieces of depth 0 to 15.
    for (int i = t; i < 64 * 32; i += 128) {
        int line = i / 32, k = i % 32;
        int place = line / 8 * 128 + line % 8 * 16 + k % 16;
        left[place + k / 16 * 1024] = bytes[i];
        if (line < 16) right[place + k / 16 * 256] = bytes[2048 + i];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    int totals[8] = {2000000000, 0, 0, 0, 0, 0, 0, 5};
    fence();
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1;"
                 : "+r"(totals[0]), "+r"(totals[1]), "+r"(totals[2]), "+r"(totals[3]), "+r"(totals[4]), "+r"(totals[5]),
                   "+r"(totals[6]), "+r"(totals[7])
                 : "l"(descriptor(in_shared(left), 1024, 128, 0)), "l"(descriptor(in_shared(right), 256, 128, 0)));
    wait();
    for (int i = 0; i < 8; i++) {
        ints[(t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] = totals[i];
    }
}
