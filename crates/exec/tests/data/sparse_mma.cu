// Products with a sparse first factor by mma.sp, one warp each: the words of the lanes lie in memory register by register,
// then those of b, then the metadata. Selectors name other lanes than the first where there is a choice.
#define LOAD(n)                                                                                                        \
    unsigned w[n];                                                                                                     \
    for (int i = 0; i < n; i++) w[i] = words[32 * i + lane];                                                           \
    words += 32 * n

__device__ void store(int* out, const int (&sums)[4], int lane) {
    int* to = out + lane / 4 * 8 + lane % 4 * 2;
    to[0] = sums[0], to[1] = sums[1], to[64] = sums[2], to[65] = sums[3];
}

#define SUMS "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
#define TOTALS "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
#define FIVE "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4])
#define NINE "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "r"(w[8])
#define OF_FIVE " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %8, "
#define OF_NINE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, "

#define FLOATS(n, list, text)                                                                                          \
    {                                                                                                                  \
        LOAD(n);                                                                                                       \
        float f[4] = {1, 2, 3, 4};                                                                                     \
        asm volatile(text : SUMS : list);                                                                              \
        int s[4];                                                                                                      \
        for (int i = 0; i < 4; i++) s[i] = static_cast<int>(f[i]);                                                     \
        store(out, s, lane);                                                                                           \
        out += 128;                                                                                                    \
    }

#define INTEGERS(n, list, text)                                                                                        \
    {                                                                                                                  \
        LOAD(n);                                                                                                       \
        int s[4] = {1, 2, 3, 4};                                                                                       \
        asm volatile(text : TOTALS : list);                                                                            \
        store(out, s, lane);                                                                                           \
        out += 128;                                                                                                    \
    }

extern "C" __global__ void sparse_mma(int* out, const unsigned* words) {
    int lane = threadIdx.x;
    FLOATS(5, FIVE, "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" OF_FIVE "2;")
    FLOATS(9, NINE, "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32" OF_NINE "1;")
    FLOATS(5, FIVE, "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" OF_FIVE "3;")
    FLOATS(9, NINE, "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32" OF_NINE "0;")
    FLOATS(9, NINE, "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32" OF_NINE "0;")
    INTEGERS(5, FIVE, "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32" OF_FIVE "1;")
    INTEGERS(9, NINE, "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.s8.s32" OF_NINE "0;")
    INTEGERS(5, FIVE, "mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32" OF_FIVE "0;")
    INTEGERS(9, NINE, "mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32" OF_NINE "0;")
}
