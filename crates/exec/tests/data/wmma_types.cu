// Products of matrices by wmma in bf16, tf32, f64, bytes, four bits and single bits.
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void wmma_types(float* out, double* doubles, int* ints, const __nv_bfloat16* brain,
                                      const float* single, const double* twice, const signed char* bytes,
                                      const unsigned* bits) {
    {
        fragment<matrix_a, 8, 32, 16, __nv_bfloat16, row_major> a;
        fragment<matrix_b, 8, 32, 16, __nv_bfloat16, col_major> b;
        fragment<accumulator, 8, 32, 16, float> c;
        load_matrix_sync(a, brain, 16);
        load_matrix_sync(b, brain + 128, 16);
        fill_fragment(c, 0.5f);
        mma_sync(c, a, b, c);
        store_matrix_sync(out, c, 8, mem_col_major);
    }
    {
        fragment<matrix_a, 16, 16, 8, precision::tf32, col_major> a;
        fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> b;
        fragment<accumulator, 16, 16, 8, float> c;
        load_matrix_sync(a, single, 16);
        load_matrix_sync(b, single + 128, 16);
        load_matrix_sync(c, out, 16, mem_row_major);
        mma_sync(c, a, b, c);
        store_matrix_sync(out + 256, c, 16, mem_row_major);
    }
    {
        fragment<matrix_a, 8, 8, 4, double, row_major> a;
        fragment<matrix_b, 8, 8, 4, double, row_major> b;
        fragment<accumulator, 8, 8, 4, double> c;
        load_matrix_sync(a, twice, 4);
        load_matrix_sync(b, twice + 32, 8);
        fill_fragment(c, -1.0);
        mma_sync(c, a, b, c);
        store_matrix_sync(doubles, c, 8, mem_row_major);
    }
    {
        __shared__ alignas(32) signed char copy[512];
        for (int i = threadIdx.x; i < 512; i += 32) copy[i] = bytes[i];
        __syncthreads();
        fragment<matrix_a, 32, 8, 16, signed char, row_major> a;
        fragment<matrix_b, 32, 8, 16, signed char, row_major> b;
        fragment<accumulator, 32, 8, 16, int> c;
        load_matrix_sync(a, copy, 16);
        load_matrix_sync(b, bytes + 512, 16);
        fill_fragment(c, 7);
        mma_sync(c, a, b, c);
        store_matrix_sync(ints, c, 8, mem_row_major);
        fragment<matrix_a, 16, 16, 16, unsigned char, col_major> left;
        fragment<matrix_b, 16, 16, 16, unsigned char, col_major> right;
        fragment<accumulator, 16, 16, 16, int> sum;
        load_matrix_sync(left, reinterpret_cast<const unsigned char*>(copy), 16);
        load_matrix_sync(right, reinterpret_cast<const unsigned char*>(copy) + 256, 16);
        fill_fragment(sum, 0);
        mma_sync(sum, left, right, sum);
        store_matrix_sync(ints + 256, sum, 16, mem_col_major);
    }
    {
        fragment<matrix_a, 8, 8, 32, experimental::precision::s4, row_major> a;
        fragment<matrix_b, 8, 8, 32, experimental::precision::s4, col_major> b;
        fragment<accumulator, 8, 8, 32, int> c;
        load_matrix_sync(a, bits, 32);
        load_matrix_sync(b, bits + 32, 32);
        fill_fragment(c, 0);
        mma_sync(c, a, b, c);
        store_matrix_sync(ints + 512, c, 8, mem_row_major);
    }
    {
        fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> a;
        fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> b;
        fragment<accumulator, 8, 8, 128, int> c;
        load_matrix_sync(a, bits, 128);
        load_matrix_sync(b, bits + 32, 128);
        fill_fragment(c, 0);
        bmma_sync(c, a, b, c, experimental::bmmaBitOpXOR);
        bmma_sync(c, a, b, c, experimental::bmmaBitOpAND);
        store_matrix_sync(ints + 576, c, 8, mem_row_major);
    }
}
