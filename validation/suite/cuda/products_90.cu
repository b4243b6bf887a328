// Bytes as floats of 8 bits (e4m3 times e5m2), a warp makes 16 x 8 results; `depth` is in words of four.
// An instruction of sm_89.
extern "C" __global__ void product_mma_fp8(const unsigned *a, const unsigned *b, float *c, int n, int depth)
{
    const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 16 + group, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8;
    float sum[4] = {};
    for (int k = in_group; k < depth; k += 8)
        asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a[row * depth + k]), "r"(a[(row + 8) * depth + k]), "r"(a[row * depth + k + 4]),
                       "r"(a[(row + 8) * depth + k + 4]), "r"(b[(column + group) * depth + k]),
                       "r"(b[(column + group) * depth + k + 4]));
    for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * n + column + in_group * 2 + i % 2] = sum[i];
}
