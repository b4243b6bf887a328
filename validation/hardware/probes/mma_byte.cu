// What tensor cores make of fp8 factors, with sums in f32 and in f16.
#include "probe.cuh"

#define PAIR(left, right, Left, Right)                                                                                 \
    MMA(m16n8k32_##left##_##right##_f32, 4, 4, 2, F32, Left, Right,                                                    \
        "mma.sync.aligned.m16n8k32.row.col.f32." #left "." #right ".f32")                                              \
    MMA(m16n8k32_##left##_##right##_f16, 2, 4, 2, F16, Left, Right,                                                    \
        "mma.sync.aligned.m16n8k32.row.col.f16." #left "." #right ".f16")                                              \
    MMA(m16n8k16_##left##_##right##_f32, 4, 2, 1, F32, Left, Right,                                                    \
        "mma.sync.aligned.m16n8k16.row.col.f32." #left "." #right ".f32")                                              \
    MMA(m16n8k16_##left##_##right##_f16, 2, 2, 1, F16, Left, Right,                                                    \
        "mma.sync.aligned.m16n8k16.row.col.f16." #left "." #right ".f16")
PAIR(e4m3, e4m3, E4m3, E4m3)
PAIR(e4m3, e5m2, E4m3, E5m2)
PAIR(e5m2, e4m3, E5m2, E4m3)
PAIR(e5m2, e5m2, E5m2, E5m2)
