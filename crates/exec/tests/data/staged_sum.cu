// Pipeline of asynchronous copies: three stages in shared memory, filled two turns ahead, with a short last tile that is
// completed with zeros.
#include <cuda_pipeline.h>

constexpr int STAGES = 3;
constexpr int THREADS = 64;

extern "C" __global__ void staged_sum(int* out, const int* in, int n) {
    __shared__ alignas(16) int tile[STAGES][4 * THREADS];
    int t = threadIdx.x, n_tiles = (n + 4 * THREADS - 1) / (4 * THREADS), sum = 0;
    auto fetch = [&](int k) {
        if (k < n_tiles) {
            int first = k * 4 * THREADS + 4 * t, left = min(max(n - first, 0), 4);
            __pipeline_memcpy_async(&tile[k % STAGES][4 * t], in + (left > 0 ? first : 0), 16, 16 - 4 * left);
        }
        __pipeline_commit();
    };
    for (int k = 0; k < STAGES - 1; k++) fetch(k);
    for (int k = 0; k < n_tiles; k++) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        fetch(k + STAGES - 1);
        for (int i = 0; i < 4; i++) sum += (i + 1) * tile[k % STAGES][(t + i * THREADS) % (4 * THREADS)];
    }
    out[t] = sum;
}
