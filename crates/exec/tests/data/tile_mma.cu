// A product of f16 matrices in tiles of 64 by 64: copies in three stages, ldmatrix, mma.sync. Rows in shared memory are 80
// bytes apart, so that eight of them lie in different banks.
#include <cuda_fp16.h>

constexpr int TILE = 64, DEPTH = 32, ROW = DEPTH + 8, STAGES = 3;

__device__ unsigned in_shared(const void* place) { return static_cast<unsigned>(__cvta_generic_to_shared(place)); }

extern "C" __global__ void tile_mma(float* out, const half* a, const half* b, int n, int k) {
    __shared__ alignas(16) half tiles_a[STAGES][TILE * ROW];
    __shared__ alignas(16) half tiles_b[STAGES][DEPTH * (TILE + 8)];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sums[4][4] = {};
    auto fetch = [&](int at) {
        if (at * DEPTH < k) {
            half* to_a = tiles_a[at % STAGES];
            half* to_b = tiles_b[at % STAGES];
            for (int i = t; i < TILE * DEPTH / 8; i += blockDim.x) {
                int r = i / (DEPTH / 8), c = i % (DEPTH / 8) * 8;
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to_a + r * ROW + c)),
                             "l"(a + (row + r) * k + at * DEPTH + c));
                r = i / (TILE / 8), c = i % (TILE / 8) * 8;
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to_b + r * (TILE + 8) + c)),
                             "l"(b + (at * DEPTH + r) * n + column + c));
            }
        }
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    fetch(1);
    // Each of eight warps makes 16 rows and 32 columns.
    int m = warp % 4 * 16, c0 = warp / 4 * 32;
    for (int at = 0; at * DEPTH < k; at++) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        fetch(at + 2);
        const half* from_a = tiles_a[at % STAGES];
        const half* from_b = tiles_b[at % STAGES];
        for (int depth = 0; depth < DEPTH; depth += 16) {
            unsigned fa[4], fb[2][4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                         : "r"(in_shared(from_a + (m + lane % 16) * ROW + depth + lane / 16 * 8)));
            for (int half_of = 0; half_of < 2; half_of++) {
                const half* place = from_b + (depth + lane % 16) * (TILE + 8) + c0 + half_of * 16 + lane / 16 * 8;
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fb[half_of][0]), "=r"(fb[half_of][1]), "=r"(fb[half_of][2]), "=r"(fb[half_of][3])
                             : "r"(in_shared(place)));
            }
            for (int j = 0; j < 4; j++) {
                unsigned b0 = fb[j / 2][j % 2 * 2], b1 = fb[j / 2][j % 2 * 2 + 1];
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                    "{%0, %1, %2, %3};"
                    : "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
                    : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(b0), "r"(b1));
            }
        }
    }
    for (int j = 0; j < 4; j++) {
        float* to = out + (row + m + lane / 4) * n + column + c0 + 8 * j + lane % 4 * 2;
        to[0] = sums[j][0], to[1] = sums[j][1];
        to[8 * n] = sums[j][2], to[8 * n + 1] = sums[j][3];
    }
}
