// Products of matrices with `mma.sync` and asynchronous copies; tiles of 64 x 64, four warps with 32 x 32 each.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

__device__ unsigned shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_async(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

__device__ void load_matrices(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

__device__ void load_transposed(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

// Halves in a ring of `STAGES` tiles, both matrices row-major; the results are rounded to halves.
template <int STAGES>
__device__ void product_staged(const half *a, const half *b, half *c, int n, int depth)
{
    extern __shared__ __align__(16) half ring[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    constexpr int PITCH_A = 32 + 8, PITCH_B = 64 + 8, STAGE = 64 * PITCH_A + 32 * PITCH_B;
    auto fetch = [&](int tile) {
        half *to_a = ring + tile % STAGES * STAGE, *to_b = to_a + 64 * PITCH_A;
        for (int i = threadIdx.x; i < 256; i += 128) {
            copy_async(to_a + i / 4 * PITCH_A + i % 4 * 8, a + (row + i / 4) * depth + tile * 32 + i % 4 * 8);
            copy_async(to_b + i / 8 * PITCH_B + i % 8 * 8, b + (tile * 32 + i / 8) * n + column + i % 8 * 8);
        }
    };
    const int tiles = depth / 32;
    for (int tile = 0; tile < STAGES - 1; ++tile) {
        if (tile < tiles) fetch(tile);
        asm volatile("cp.async.commit_group;");
    }
    float sum[2][4][4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        if (STAGES == 1) {
            fetch(tile);
            asm volatile("cp.async.commit_group;");
            asm volatile("cp.async.wait_group 0;");
        } else {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES == 1 ? 0 : STAGES - 2));
        }
        __syncthreads();
        if (STAGES > 1) {
            if (tile + STAGES - 1 < tiles) fetch(tile + STAGES - 1);
            asm volatile("cp.async.commit_group;");
        }
        const half *tile_a = ring + tile % STAGES * STAGE, *tile_b = tile_a + 64 * PITCH_A;
#pragma unroll
        for (int k = 0; k < 32; k += 16) {
            unsigned left[2][4], right[2][4];
            for (int i = 0; i < 2; ++i) {
                load_matrices(left[i], tile_a + (warp / 2 * 32 + i * 16 + lane % 16) * PITCH_A + k + lane / 16 * 8);
                load_transposed(right[i], tile_b + (k + lane % 16) * PITCH_B + warp % 2 * 32 + i * 16 + lane / 16 * 8);
            }
#pragma unroll
            for (int y = 0; y < 2; ++y)
#pragma unroll
                for (int x = 0; x < 4; ++x)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, "
                                 "{%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[y][x][0]), "+f"(sum[y][x][1]), "+f"(sum[y][x][2]), "+f"(sum[y][x][3])
                                 : "r"(left[y][0]), "r"(left[y][1]), "r"(left[y][2]), "r"(left[y][3]),
                                   "r"(right[x / 2][x % 2 * 2]), "r"(right[x / 2][x % 2 * 2 + 1]));
        }
        if (STAGES == 1) __syncthreads();
    }
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 4; ++x)
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<half2 *>(&c[(row + warp / 2 * 32 + y * 16 + h * 8 + lane / 4) * n + column +
                                             warp % 2 * 32 + x * 8 + lane % 4 * 2]) =
                    __floats2half2_rn(sum[y][x][h * 2], sum[y][x][h * 2 + 1]);
}

extern "C" __global__ void __launch_bounds__(128) product_stages_1(const half *a, const half *b, half *c, int n,
    int depth)
{
    product_staged<1>(a, b, c, n, depth);
}

extern "C" __global__ void __launch_bounds__(128) product_stages_2(const half *a, const half *b, half *c, int n,
    int depth)
{
    product_staged<2>(a, b, c, n, depth);
}

extern "C" __global__ void __launch_bounds__(128) product_stages_4(const half *a, const half *b, half *c, int n,
    int depth)
{
    product_staged<4>(a, b, c, n, depth);
}

// Bfloat16 with the primitives of <cuda_pipeline.h>; B is column-major, so that pairs along the depth lie together.
extern "C" __global__ void __launch_bounds__(128) product_bfloat(const __nv_bfloat16 *a, const __nv_bfloat16 *b,
    float *c, int n, int depth)
{
    __shared__ __align__(16) __nv_bfloat16 tile_a[2][64][32 + 8], tile_b[2][64][32 + 8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    auto fetch = [&](int stage, int k) {
        for (int i = threadIdx.x; i < 256; i += 128) {
            __pipeline_memcpy_async(&tile_a[stage][i / 4][i % 4 * 8], &a[(row + i / 4) * depth + k + i % 4 * 8], 16);
            __pipeline_memcpy_async(&tile_b[stage][i / 4][i % 4 * 8], &b[(column + i / 4) * depth + k + i % 4 * 8], 16);
        }
        __pipeline_commit();
    };
    float sum[2][4][4] = {};
    fetch(0, 0);
    for (int k = 0, stage = 0; k < depth; k += 32, stage ^= 1) {
        if (k + 32 < depth) {
            fetch(stage ^ 1, k + 32);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
#pragma unroll
        for (int step = 0; step < 32; step += 16)
#pragma unroll
            for (int y = 0; y < 2; ++y) {
                unsigned left[4];
                load_matrices(left, &tile_a[stage][warp / 2 * 32 + y * 16 + lane % 16][step + lane / 16 * 8]);
#pragma unroll
                for (int x = 0; x < 4; ++x) {
                    const __nv_bfloat16 *right = &tile_b[stage][warp % 2 * 32 + x * 8 + lane / 4][step + lane % 4 * 2];
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                        "{%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[y][x][0]), "+f"(sum[y][x][1]), "+f"(sum[y][x][2]), "+f"(sum[y][x][3])
                        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]),
                          "r"(*reinterpret_cast<const unsigned *>(right)),
                          "r"(*reinterpret_cast<const unsigned *>(right + 8)));
                }
            }
        __syncthreads();
    }
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 4; ++x)
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<float2 *>(&c[(row + warp / 2 * 32 + y * 16 + h * 8 + lane / 4) * n + column +
                                              warp % 2 * 32 + x * 8 + lane % 4 * 2]) =
                    make_float2(sum[y][x][h * 2], sum[y][x][h * 2 + 1]);
}

__device__ unsigned rounded(float value)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}

// Floats rounded to tf32, straight from memory; a warp makes 16 x 8 results, row-major times column-major.
extern "C" __global__ void product_tf32(const float *a, const float *b, float *c, int n, int depth)
{
    const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 16 + group, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8;
    float sum[4] = {};
    for (int k = in_group; k < depth; k += 8) {
        const unsigned left[4] = {rounded(a[row * depth + k]), rounded(a[(row + 8) * depth + k]),
                                  rounded(a[row * depth + k + 4]), rounded(a[(row + 8) * depth + k + 4])};
        const unsigned right[2] = {rounded(b[(column + group) * depth + k]),
            rounded(b[(column + group) * depth + k + 4])};
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    }
    for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * n + column + in_group * 2 + i % 2] = sum[i];
}

// Doubles, a warp makes 8 x 8 results, row-major times column-major.
extern "C" __global__ void product_mma_double(const double *a, const double *b, double *c, int n, int depth)
{
    const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 8 + group, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8;
    double sum[2] = {};
    for (int k = in_group; k < depth; k += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum[0]), "+d"(sum[1])
                     : "d"(a[row * depth + k]), "d"(b[(column + group) * depth + k]));
    c[row * n + column + in_group * 2] = sum[0];
    c[row * n + column + in_group * 2 + 1] = sum[1];
}

// Bytes, a warp makes 16 x 8 results; `depth` is in words of four.
extern "C" __global__ void product_mma_bytes(const unsigned *a, const unsigned *b, int *c, int n, int depth)
{
    const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 16 + group, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8;
    int sum[4] = {};
    for (int k = in_group; k < depth; k += 8)
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                     : "r"(a[row * depth + k]), "r"(a[(row + 8) * depth + k]), "r"(a[row * depth + k + 4]),
                       "r"(a[(row + 8) * depth + k + 4]), "r"(b[(column + group) * depth + k]),
                       "r"(b[(column + group) * depth + k + 4]));
    for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * n + column + in_group * 2 + i % 2] = sum[i];
}

// How many bits two rows have in common, by `and` of single bits; `depth` is in words of 32.
extern "C" __global__ void product_mma_bits(const unsigned *a, const unsigned *b, int *c, int n, int depth)
{
    const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 16 + group, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8;
    int sum[4] = {};
    for (int k = in_group; k < depth; k += 8)
        asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                     : "r"(a[row * depth + k]), "r"(a[(row + 8) * depth + k]), "r"(a[row * depth + k + 4]),
                       "r"(a[(row + 8) * depth + k + 4]), "r"(b[(column + group) * depth + k]),
                       "r"(b[(column + group) * depth + k + 4]));
    for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * n + column + in_group * 2 + i % 2] = sum[i];
}
