// Steps of the ladder that need compute capability 8.0: asynchronous copies in several stages, and mma.sync.

#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

// Single precision: 64 x 64 elements per block of 256 threads, tiles 16 deep in three stages of shared memory that
// cp.async fills two steps ahead.
extern "C" __global__ void __launch_bounds__(256)
    product_stages(const float* a, const float* b, float* c, int n) {
    constexpr int TILE = 64, DEPTH = 16, STAGES = 3;
    __shared__ __align__(16) float tile_a[STAGES][TILE][DEPTH + 4];
    __shared__ __align__(16) float tile_b[STAGES][DEPTH][TILE];
    int thread = threadIdx.x, x = thread % 16, y = thread / 16;
    const float* rows = a + (blockIdx.y * TILE + thread / 4) * n + thread % 4 * 4;
    const float* columns = b + y * n + blockIdx.x * TILE + x * 4;
    auto copy = [&](int step) {
        if (step * DEPTH < n) {
            int stage = step % STAGES;
            __pipeline_memcpy_async(&tile_a[stage][thread / 4][thread % 4 * 4], rows + step * DEPTH, 16);
            __pipeline_memcpy_async(&tile_b[stage][y][x * 4], columns + step * DEPTH * n, 16);
        }
        __pipeline_commit();
    };
    copy(0);
    copy(1);
    float sum[4][4] = {};
    for (int step = 0; step * DEPTH < n; ++step) {
        __pipeline_wait_prior(1);
        // Behind this barrier the tiles of all threads are there, and nobody reads the stage that is filled next.
        __syncthreads();
        copy(step + 2);
        int stage = step % STAGES;
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float4 right = *reinterpret_cast<const float4*>(&tile_b[stage][k][x * 4]);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float left = tile_a[stage][y + 16 * i][k];
                sum[i][0] += left * right.x;
                sum[i][1] += left * right.y;
                sum[i][2] += left * right.z;
                sum[i][3] += left * right.w;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 four = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *reinterpret_cast<float4*>(c + (blockIdx.y * TILE + y + 16 * i) * n + blockIdx.x * TILE + x * 4) = four;
    }
}

__device__ __forceinline__ void load_four(unsigned (&to)[4], const half* from) {
    unsigned address = __cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
}

__device__ __forceinline__ void load_four_transposed(unsigned (&to)[4], const half* from) {
    unsigned address = __cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
}

__device__ __forceinline__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Half precision: 128 x 128 elements per block of eight warps, 64 x 32 per warp, tiles 32 deep in three stages of
// dynamic shared memory (3 * (128 * 40 + 32 * 136) * 2 = 56,832 bytes).
extern "C" __global__ void __launch_bounds__(256)
    product_mma_stages(const half* a, const half* b, float* c, int n) {
    constexpr int TILE = 128, DEPTH = 32, STAGES = 3, ROW_A = DEPTH + 8, ROW_B = TILE + 8;
    constexpr int SIZE_A = TILE * ROW_A, SIZE_B = DEPTH * ROW_B;
    extern __shared__ __align__(16) half stages[];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int y = warp / 4 * 64, x = warp % 4 * 32;
    const half* rows = a + blockIdx.y * TILE * n;
    const half* columns = b + blockIdx.x * TILE;
    auto copy = [&](int step) {
        if (step * DEPTH < n) {
            half* tile_a = stages + step % STAGES * (SIZE_A + SIZE_B);
            half* tile_b = tile_a + SIZE_A;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                int row = thread / 4 + 64 * i, k = thread % 4 * 8;
                __pipeline_memcpy_async(tile_a + row * ROW_A + k, rows + row * n + step * DEPTH + k, 16);
                int depth = thread / 16 + 16 * i, column = thread % 16 * 8;
                __pipeline_memcpy_async(tile_b + depth * ROW_B + column, columns + (step * DEPTH + depth) * n + column,
                                        16);
            }
        }
        __pipeline_commit();
    };
    copy(0);
    copy(1);
    float sum[4][4][4] = {};
    for (int step = 0; step * DEPTH < n; ++step) {
        __pipeline_wait_prior(1);
        __syncthreads();
        copy(step + 2);
        const half* tile_a = stages + step % STAGES * (SIZE_A + SIZE_B);
        const half* tile_b = tile_a + SIZE_A;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned left[4][4], right[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                load_four(left[i], tile_a + (y + 16 * i + lane % 16) * ROW_A + k + lane / 16 * 8);
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                load_four_transposed(right[j], tile_b + (k + lane % 16) * ROW_B + x + 16 * j + lane / 16 * 8);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    multiply_add(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            int row = blockIdx.y * TILE + y + 16 * i + lane / 4, column = blockIdx.x * TILE + x + 8 * j + lane % 4 * 2;
            float* at = c + row * n + column;
            *reinterpret_cast<float2*>(at) = make_float2(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<float2*>(at + 8 * n) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
    }
}
