// A product of matrices of bytes, s8 with u8, by mma.sync: each warp makes 16 rows and 8 columns, factors come by
// ldmatrix. The last sum is added once more with clamping.
extern "C" __global__ void byte_mma(int* out, const signed char* a, const unsigned char* b, int k) {
    __shared__ alignas(16) signed char left[16 * 32];
    __shared__ alignas(16) unsigned char right[8 * 32];
    int lane = threadIdx.x;
    int row = blockIdx.y * 16, column = blockIdx.x * 8;
    int sums[4] = {2147483000, -2147483000, 0, 0};
    for (int depth = 0; depth < k; depth += 32) {
        for (int i = lane; i < 16 * 32; i += 32) left[i] = a[(row + i / 32) * k + depth + i % 32];
        for (int i = lane; i < 8 * 32; i += 32) right[i] = b[(column + i / 32) * k + depth + i % 32];
        __syncwarp();
        unsigned fa[4], fb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(static_cast<unsigned>(__cvta_generic_to_shared(left + lane % 16 * 32 + lane / 16 * 16))));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "l"(right + lane % 8 * 32 + lane / 8 % 2 * 16));
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        __syncwarp();
    }
    int* to = out + (row + lane / 4) * (gridDim.x * 8) + column + lane % 4 * 2;
    to[0] = sums[0], to[1] = sums[1];
    to[8 * gridDim.x * 8] = sums[2], to[8 * gridDim.x * 8 + 1] = sums[3];
}
