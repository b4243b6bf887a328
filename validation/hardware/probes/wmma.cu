// The products of wmma in all shapes and types; both factors and the sums lie in memory.
#include <mma.h>
#include "probe.cuh"
using namespace nvcuda;

// Fills words of a tile, WORDS of them, in turn by the lanes of its warp.
template <typename Format>
__device__ void* tile(uint32_t* in, int words, int first, uint32_t kind) {
    uint32_t* place = in + first * thread_count() + thread_index() / 32 * words;
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < words; i += 32)
        place[i] = Format::word(kind, mix(first * 0x10001u + 77) + (thread_index() / 32 * words + i) * 0x9e3779b1u);
    __syncwarp();
    return place;
}

// Elements from one row or column in memory to the next.
#define LEADING_row_major(columns, rows) columns
#define LEADING_col_major(columns, rows) rows


// A and B: 32-bit words per lane of the factors in memory, C and D those of the sums before and after.
#define WMMA(name, m, n, k, Number, left, right, Before, After, A, B, C, D, Left, Right, Sums, ...)                    \
    extern "C" __global__ void name(uint32_t* out, uint32_t* in) {                                                     \
        const Number* a = static_cast<Number*>(tile<Left>(in, A * 32, 0, KIND_A));                                     \
        const Number* b = static_cast<Number*>(tile<Right>(in, B * 32, A, KIND_B));                                    \
        const Before* c = static_cast<Before*>(tile<Sums>(in, C * 32, A + B, KIND_C));                                 \
        wmma::fragment<wmma::matrix_a, m, n, k, __VA_ARGS__, wmma::left> fa;                                           \
        wmma::fragment<wmma::matrix_b, m, n, k, __VA_ARGS__, wmma::right> fb;                                          \
        wmma::fragment<wmma::accumulator, m, n, k, Before> fc;                                                         \
        wmma::fragment<wmma::accumulator, m, n, k, After> fd;                                                          \
        wmma::load_matrix_sync(fa, a, LEADING_##left(k, m));                                                           \
        wmma::load_matrix_sync(fb, b, LEADING_##right(n, k));                                                          \
        wmma::load_matrix_sync(fc, c, n, wmma::mem_row_major);                                                         \
        wmma::mma_sync(fd, fa, fb, fc);                                                                                \
        wmma::store_matrix_sync(reinterpret_cast<After*>(out + thread_index() / 32 * (D * 32)), fd, n,                 \
                                wmma::mem_row_major);                                                                  \
    }
#define HALF(name, m, n, A, B, left, right)                                                                            \
    WMMA(name##_f16_f16, m, n, 16, half, left, right, half, half, A, B, 4, 4, F16, F16, F16, half)                     \
    WMMA(name##_f32_f32, m, n, 16, half, left, right, float, float, A, B, 8, 8, F16, F16, F32, half)
HALF(m16n16k16_row_col, 16, 16, 4, 4, row_major, col_major)
HALF(m16n16k16_col_row, 16, 16, 4, 4, col_major, row_major)
HALF(m32n8k16_row_row, 32, 8, 8, 2, row_major, row_major)
HALF(m8n32k16_col_col, 8, 32, 2, 8, col_major, col_major)
WMMA(m16n16k16_f16_to_f32, 16, 16, 16, half, row_major, col_major, half, float, 4, 4, 4, 8, F16, F16, F16, half)
WMMA(m16n16k16_f32_to_f16, 16, 16, 16, half, row_major, col_major, float, half, 4, 4, 8, 4, F16, F16, F32, half)
WMMA(m16n16k16_bf16, 16, 16, 16, __nv_bfloat16, row_major, col_major, float, float, 4, 4, 8, 8, Bf16, Bf16, F32,
     __nv_bfloat16)
WMMA(m32n8k16_bf16, 32, 8, 16, __nv_bfloat16, col_major, col_major, float, float, 8, 2, 8, 8, Bf16, Bf16, F32,
     __nv_bfloat16)
WMMA(m16n16k8_tf32, 16, 16, 8, float, row_major, col_major, float, float, 4, 4, 8, 8, Tf32, Tf32, F32,
     wmma::precision::tf32)
WMMA(m16n16k16_s8, 16, 16, 16, signed char, row_major, col_major, int, int, 2, 2, 8, 8, Bits, Bits, Total, signed char)
WMMA(m8n32k16_u8, 8, 32, 16, unsigned char, row_major, col_major, int, int, 1, 4, 8, 8, Bits, Bits, Total,
     unsigned char)
