// Products of f16 matrices by wmma in all shapes: factors by rows and by columns, in global and in shared memory, changed
// element by element on the way; sums in f32 and in f16, stored by rows and by columns.
#include <mma.h>
using namespace nvcuda::wmma;

template <int M, int N, class OfA, class OfB>
__device__ void product(float* out, const half* a, const half* b, int distance) {
    fragment<matrix_a, M, N, 16, half, OfA> left;
    fragment<matrix_b, M, N, 16, half, OfB> right;
    fragment<accumulator, M, N, 16, float> sum;
    load_matrix_sync(left, a, distance);
    load_matrix_sync(right, b, distance);
    fill_fragment(sum, 1.0f);
    for (int i = 0; i < left.num_elements; i++) left.x[i] = left.x[i] + left.x[i];
    mma_sync(sum, left, right, sum);
    store_matrix_sync(out, sum, N, mem_row_major);
}

extern "C" __global__ void wmma_half(float* out, half* halves, const half* a, const half* b) {
    __shared__ alignas(32) half copy_a[32 * 40], copy_b[32 * 40];
    for (int i = threadIdx.x; i < 32 * 32; i += 32) {
        copy_a[i / 32 * 40 + i % 32] = a[i];
        copy_b[i / 32 * 40 + i % 32] = b[i];
    }
    __syncthreads();
    product<16, 16, row_major, col_major>(out, a, b, 32);
    product<32, 8, col_major, row_major>(out + 256, a, b, 32);
    product<8, 32, row_major, row_major>(out + 512, copy_a, copy_b, 40);
    product<16, 16, col_major, row_major>(out + 768, copy_a, copy_b, 40);
    product<32, 8, row_major, col_major>(out + 1024, copy_a, copy_b, 40);

    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, row_major> right;
    fragment<accumulator, 16, 16, 16, half> sum;
    load_matrix_sync(left, a + 16, 32);
    load_matrix_sync(right, copy_b + 16 * 40, 40);
    load_matrix_sync(sum, halves, 16, mem_col_major);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(halves + 256, sum, 16, mem_row_major);
    store_matrix_sync(halves + 512, sum, 16, mem_col_major);
}
