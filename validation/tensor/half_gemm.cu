// A product of f16 matrices with f32 sums, c = a b, as libraries make it: tiles of both factors come to shared memory by
// asynchronous copies in stages, from there to registers by ldmatrix, and are multiplied by mma.sync. Each warp of a block
// makes a part of its tile. b lies by columns.
//
// The kernels differ in the size of tiles, in the number of stages, and in whether the rows in shared memory are moved
// apart so that eight of them lie in different banks.
#include <cuda_fp16.h>

constexpr int DEPTH = 32;

__device__ __forceinline__ unsigned in_shared(const void* place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned place) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place));
}

template <int TILE_M, int TILE_N, int PART, int STAGES, int PAD>
__device__ __forceinline__ void multiply(float* c, const half* a, const half* b, int n, int k) {
    constexpr int WARPS_M = TILE_M / PART, THREADS = 32 * WARPS_M * (TILE_N / PART), LINES = THREADS / 4;
    constexpr int ROW = DEPTH + PAD, BLOCKS_M = PART / 16, BLOCKS_N = PART / 8, STAGE = (TILE_M + TILE_N) * ROW;
    extern __shared__ __align__(16) half tiles[];
    half* tiles_a = tiles;
    half* tiles_b = tiles + TILE_M * ROW;
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    // Of the eight lanes that are served together four take a row and four the fourth below: their banks are apart.
    int line = t / 32 * 8 + t / 4 % 2 * 4 + t % 32 / 8;
    const half* own_a = a + (blockIdx.y * TILE_M + line) * static_cast<long long>(k) + t % 4 * 8;
    const half* own_b = b + (blockIdx.x * TILE_N + line) * static_cast<long long>(k) + t % 4 * 8;
    unsigned to_a = in_shared(tiles_a + line * ROW + t % 4 * 8), to_b = in_shared(tiles_b + line * ROW + t % 4 * 8);
    auto fetch = [&](int step) {
        if (step * DEPTH < k) {
            unsigned stage = step % STAGES * STAGE * 2;
#pragma unroll
            for (int i = 0; i < TILE_M / LINES; i++) {
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_a + stage + i * LINES * ROW * 2),
                             "l"(own_a + static_cast<long long>(i * LINES) * k + step * DEPTH));
            }
#pragma unroll
            for (int i = 0; i < TILE_N / LINES; i++) {
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_b + stage + i * LINES * ROW * 2),
                             "l"(own_b + static_cast<long long>(i * LINES) * k + step * DEPTH));
            }
        }
        asm volatile("cp.async.commit_group;");
    };
    float sums[BLOCKS_M][BLOCKS_N][4] = {};
    int m = warp % WARPS_M * PART, column = warp / WARPS_M * PART;
    unsigned from_a = in_shared(tiles_a + (m + lane % 16) * ROW + lane / 16 * 8);
    unsigned from_b = in_shared(tiles_b + (column + lane % 8 + lane / 16 * 8) * ROW + lane / 8 % 2 * 8);
    unsigned fa[2][BLOCKS_M][4], fb[2][BLOCKS_N / 2][4];
    constexpr int LOADS = BLOCKS_M + BLOCKS_N / 2;
    auto load = [&](int step, int part, int number) {
        unsigned place = step % STAGES * STAGE * 2 + part * 32;
        if (number < BLOCKS_M)
            load_matrices(fa[part][number], from_a + place + number * 16 * ROW * 2);
        else
            load_matrices(fb[part][number - BLOCKS_M], from_b + place + (number - BLOCKS_M) * 16 * ROW * 2);
    };
    auto load_all = [&](int step, int part) {
#pragma unroll
        for (int number = 0; number < LOADS; number++) load(step, part, number);
    };
    // Behind each row of products `meanwhile` has its turn, so that loads and products do not come in bursts.
    auto compute = [&](int part, auto meanwhile) {
#pragma unroll
        for (int i = 0; i < BLOCKS_M; i++) {
#pragma unroll
            for (int j = 0; j < BLOCKS_N; j++) {
                float* sum = sums[i][j];
                unsigned* left = fa[part][i];
                unsigned* right = fb[part][j / 2] + j % 2 * 2;
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                    "{%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                    : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
            }
            meanwhile(i);
        }
    };
    if constexpr (STAGES == 1) {
        for (int step = 0; step * DEPTH < k; step++) {
            fetch(step);
            asm volatile("cp.async.wait_group 0;");
            __syncthreads();
            load_all(step, 0);
            load_all(step, 1);
            compute(0, [](int) {});
            compute(1, [](int) {});
            __syncthreads();
        }
    } else {
        // What is multiplied next is loaded meanwhile: the second half of a step, then the first one of the next.
        auto compute_and_load = [&](int part, int step) {
            compute(part, [&](int i) {
#pragma unroll
                for (int number = LOADS * i / BLOCKS_M; number < LOADS * (i + 1) / BLOCKS_M; number++)
                    load(step, 1 - part, number);
            });
        };
        for (int step = 0; step < STAGES - 1; step++) fetch(step);
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES == 1 ? 0 : STAGES - 2));
        __syncthreads();
        load_all(0, 0);
        for (int step = 0; step * DEPTH < k; step++) {
            fetch(step + STAGES - 1);
            compute_and_load(0, step);
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES == 1 ? 0 : STAGES - 2));
            __syncthreads();
            compute_and_load(1, step + 1);
        }
    }
    float* out = c + (blockIdx.y * TILE_M + m + lane / 4) * static_cast<long long>(n) + blockIdx.x * TILE_N + column +
                 lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < BLOCKS_M; i++) {
#pragma unroll
        for (int j = 0; j < BLOCKS_N; j++) {
            float2* to = reinterpret_cast<float2*>(out + i * 16ll * n + j * 8);
            to[0] = make_float2(sums[i][j][0], sums[i][j][1]);
            to[4ll * n] = make_float2(sums[i][j][2], sums[i][j][3]);
        }
    }
}

#define KERNEL(name, threads, ...)                                                                                     \
    extern "C" __global__ __launch_bounds__(threads) void name(float* c, const half* a, const half* b, int n, int k) { \
        multiply<__VA_ARGS__>(c, a, b, n, k);                                                                         \
    }

KERNEL(tiles_of_128_by_256, 256, 128, 256, 64, 3, 8)
KERNEL(tiles_of_64, 128, 64, 64, 32, 3, 8)
KERNEL(tiles_of_32, 128, 32, 32, 16, 3, 8)
KERNEL(one_stage, 256, 128, 256, 64, 1, 8)
KERNEL(rows_in_the_same_banks, 256, 128, 256, 64, 3, 0)
