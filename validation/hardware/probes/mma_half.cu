// What tensor cores make of f16, bf16 and tf32 factors: digits kept of a sum, order, denormals, infinities, NaN.
#include "probe.cuh"

// The shape of Volta: four small products in a warp, in all orders of the factors.
#define VOLTA(order, left, right)                                                                                      \
    MMA(m8n8k4_##order##_f16, 4, 2, 2, F16, F16, F16, "mma.sync.aligned.m8n8k4." left "." right ".f16.f16.f16.f16")    \
    MMA(m8n8k4_##order##_f32, 8, 2, 2, F32, F16, F16, "mma.sync.aligned.m8n8k4." left "." right ".f32.f16.f16.f32")
VOLTA(row_col, "row", "col")
VOLTA(row_row, "row", "row")
VOLTA(col_col, "col", "col")
VOLTA(col_row, "col", "row")

// Sums in f16, result in f32.
extern "C" __global__ void m8n8k4_f16_to_f32(uint32_t* out, uint32_t* in) {
    uint32_t a[2], b[2], c[4], d[8];
    fill<F16>(a, in, 0, KIND_A), fill<F16>(b, in, 2, KIND_B), fill<F16>(c, in, 4, KIND_C);
    asm volatile(
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
        "{%12, %13, %14, %15};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
        : READ2(a), READ2(b), READ4(c));
    store(out, d);
}

MMA(m16n8k8_f16_f16, 2, 2, 1, F16, F16, F16, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16")
MMA(m16n8k8_f16_f32, 4, 2, 1, F32, F16, F16, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
MMA(m16n8k16_f16_f16, 2, 4, 2, F16, F16, F16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
MMA(m16n8k16_f16_f32, 4, 4, 2, F32, F16, F16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA(m16n8k8_bf16, 4, 2, 1, F32, Bf16, Bf16, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
MMA(m16n8k16_bf16, 4, 4, 2, F32, Bf16, Bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MMA(m16n8k4_tf32, 4, 2, 1, F32, Tf32, Tf32, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")
MMA(m16n8k8_tf32, 4, 4, 2, F32, Tf32, Tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
