// Barriers in shared memory: tokens, parities, arrivals that do not wait, who drops out, copies that arrive by themselves.
#include <cuda/barrier>
#include <cooperative_groups.h>

constexpr int THREADS = 96;

extern "C" __global__ void barrier_phases(int* out, const int* in) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier full, empty;
    __shared__ alignas(16) int tile[4 * 32];
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 32 + 64);
        init(&empty, 96);
    }
    __syncthreads();
    if (t < 32) {
        // The first warp fills the tile, six times.
        for (int k = 0; k < 6; k++) {
            if (k > 0) empty.arrive_and_wait();
            cuda::memcpy_async(&tile[4 * t], in + 128 * k + 4 * t, cuda::aligned_size_t<16>(16), full);
            full.arrive_and_wait();
        }
        out[t] = t;
    } else {
        int sum = 0;
        for (int k = 0; k < 6; k++) {
            auto token = full.arrive();
            full.wait(std::move(token));
            for (int i = 0; i < 2; i++) sum += (k + 1) * tile[(5 * t + i) % 128];
            if (k == 3 && t >= 64) {
                // The last warp leaves both barriers after four turns.
                full.arrive_and_drop();
                empty.arrive_and_drop();
                break;
            }
            if (k < 5) empty.arrive_and_wait();
        }
        out[t] = sum;
    }
}
