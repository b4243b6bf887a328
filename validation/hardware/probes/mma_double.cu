// Products in f64: one rounding for each element or for each step, and the order of the steps.
#include "probe.cuh"

template <int N>
__device__ inline void fill(uint64_t (&words)[N], uint64_t* in, int first, uint32_t kind) {
    uint64_t* mine = in + first * thread_count() + thread_index();
#pragma unroll 1
    for (int i = 0; i < N; i++)
        mine[i * thread_count()] =
            number<uint64_t, 11, 52>(kind, mix((first + i) * 0x10001u + 77) + thread_index() * 0x9e3779b1u);
    for (int i = 0; i < N; i++) words[i] = mine[i * thread_count()];
}

#define IN1(x) "l"(x[0])
#define IN2(x) IN1(x), "l"(x[1])
#define IN4(x) IN2(x), "l"(x[2]), "l"(x[3])
#define IN8(x) IN4(x), "l"(x[4]), "l"(x[5]), "l"(x[6]), "l"(x[7])
#define SUMS2(x) "+l"(x[0]), "+l"(x[1])
#define SUMS4(x) SUMS2(x), "+l"(x[2]), "+l"(x[3])
#define LIST_4_8_4 " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3}"

#define DOUBLES(name, D, A, B, shape)                                                                                  \
    extern "C" __global__ void name(uint64_t* out, uint64_t* in) {                                                     \
        uint64_t a[A], b[B], c[D];                                                                                     \
        fill(a, in, 0, KIND_A), fill(b, in, A, KIND_B), fill(c, in, A + B, KIND_C);                                    \
        asm volatile("mma.sync.aligned." shape ".f64.f64.f64.f64" LIST_##D##_##A##_##B ";"                             \
                     : SUMS##D(c)                                                                                      \
                     : IN##A(a), IN##B(b));                                                                            \
        for (int i = 0; i < D; i++) out[i * thread_count() + thread_index()] = c[i];                                   \
    }
DOUBLES(m8n8k4_f64, 2, 1, 1, "m8n8k4.row.col")
DOUBLES(m16n8k4_f64, 4, 2, 1, "m16n8k4.row.col")
DOUBLES(m16n8k8_f64, 4, 4, 2, "m16n8k8.row.col")
DOUBLES(m16n8k16_f64, 4, 8, 4, "m16n8k16.row.col")
DOUBLES(m8n8k4_f64_rz, 2, 1, 1, "m8n8k4.row.col.rz")
DOUBLES(m16n8k8_f64_rm, 4, 4, 2, "m16n8k8.row.col.rm")
DOUBLES(m16n8k16_f64_rp, 4, 8, 4, "m16n8k16.row.col.rp")
