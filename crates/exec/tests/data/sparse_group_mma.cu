// Products of four warps with a sparse first factor: halves in shared memory in exchanged pieces, then from registers, and
// bytes in pieces of eight rows. The metadata of each lane lie in memory in the order of the threads.
#include <cstdint>

__device__ uint32_t in_shared(const void* place) { return static_cast<uint32_t>(__cvta_generic_to_shared(place)); }

// Bytes between pieces, and the sort of exchange: 0 none, 1 rows of 128 bytes, 2 of 64.
__device__ uint64_t descriptor(uint32_t place, uint32_t leading, uint32_t stride, uint64_t swizzle) {
    return (place & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | swizzle << 62;
}

__device__ void wait() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define SUMS(s)                                                                                                        \
    "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7])
#define NUMBERS "{%0, %1, %2, %3, %4, %5, %6, %7}"

__device__ void store(float* out, const float (&sums)[8]) {
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++)
        out[(t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] = sums[i];
}

extern "C" __global__ void sparse_group_mma(float* out, int* ints, const uint16_t* held, const uint16_t* b,
                                            const signed char* held_bytes, const signed char* bytes,
                                            const uint32_t* metadata) {
    __shared__ alignas(1024) unsigned char left[64 * 64], right[16 * 128];
    int t = threadIdx.x;
    // 64 rows of which 32 halves are held, 16 columns of 64 halves.
    for (int i = t; i < 64 * 32; i += 128) {
        int line = i / 32, k = i % 32;
        *reinterpret_cast<uint16_t*>(left + ((line * 64 + k * 2) ^ line / 2 % 4 * 16)) = held[i];
    }
    for (int i = t; i < 16 * 64; i += 128) {
        int line = i / 64, k = i % 64;
        *reinterpret_cast<uint16_t*>(right + ((line * 128 + k * 2) ^ line % 8 * 16)) = b[i];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float sums[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " NUMBERS ", %8, %9, %10, 1, 1, 1, 1, 0, 0;"
                 : SUMS(sums)
                 : "l"(descriptor(in_shared(left), 16, 512, 2)), "l"(descriptor(in_shared(right), 16, 1024, 1)),
                   "r"(metadata[t]));
    wait();
    // The second half of the depth, a in registers.
    uint32_t a[4];
    for (int i = 0; i < 4; i++) {
        int row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8, k = 16 + t % 4 * 2 + i / 2 * 8;
        a[i] = *reinterpret_cast<const uint32_t*>(held + row * 32 + k);
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " NUMBERS
                 ", {%8, %9, %10, %11}, %12, %13, 0, 1, -1, 1, 0;"
                 : SUMS(sums)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(in_shared(right) + 64, 16, 1024, 1)),
                   "r"(metadata[128 + t]));
    wait();
    store(out, sums);
    __syncthreads();
    for (int i = t; i < 64 * 32; i += 128) {
        int line = i / 32, k = i % 32;
        left[line / 8 * 128 + line % 8 * 16 + k % 16 + k / 16 * 1024] = held_bytes[i];
    }
    for (int i = t; i < 16 * 64; i += 128) {
        int line = i / 64, k = i % 64;
        right[line / 8 * 128 + line % 8 * 16 + k % 16 + k / 16 * 256] = bytes[i];
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    int totals[8] = {2000000000, 0, 0, 0, 0, 0, 0, 5};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.s8.s8 " NUMBERS ", %8, %9, %10, 0, 1;"
                 : "+r"(totals[0]), "+r"(totals[1]), "+r"(totals[2]), "+r"(totals[3]), "+r"(totals[4]), "+r"(totals[5]),
                   "+r"(totals[6]), "+r"(totals[7])
                 : "l"(descriptor(in_shared(left), 1024, 128, 0)), "l"(descriptor(in_shared(right), 256, 128, 0)),
                   "r"(metadata[256 + t]));
    wait();
    for (int i = 0; i < 8; i++) {
        ints[(t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] = totals[i];
    }
}
