// Nested branches, continue and break inside loops; every lane takes its own way and all meet for the last shuffle.
extern "C" __global__ void divergence_nested(int* out, int* sum_of_warp) {
    int lane = threadIdx.x;
    int v = 0;
    for (int i = 0; i < 8; ++i) {
        if ((lane >> (i % 5)) & 1) {
            if (i == 3) continue;
            for (int j = 0; j < lane % 4; ++j) {
                if (j * i > lane) break;
                v += j + 1;
            }
        } else if (lane % 7 == i) {
            v += 100;
            if (lane > 20) break;
        } else {
            v -= i;
        }
        v = v * 3 + i;
        if (v > 5000) v -= 5000;
    }
    out[lane] = v;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    sum_of_warp[lane] = v;
}
