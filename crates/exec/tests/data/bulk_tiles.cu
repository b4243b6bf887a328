// Bulk copies: a thread fetches tiles two turns ahead, each into a stage with a barrier of its own; all compute, and the
// thread writes the stage back, overwriting in one buffer and adding in another.
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int STAGES = 2;
constexpr int WORDS = 384;

extern "C" __global__ void bulk_tiles(int* out, int* sums, const int* in, int n_tiles) {
    __shared__ alignas(128) int tile[STAGES][WORDS];
    __shared__ uint64_t full[STAGES];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) ptx::mbarrier_init(&full[s], 1);
    }
    __syncthreads();
    auto fetch = [&](int k) {
        if (t == 0 && k < n_tiles) {
            // What was written back from the stage has been read before it is overwritten.
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[k % STAGES], in + k * WORDS,
                               WORDS * 4, &full[k % STAGES]);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[k % STAGES],
                                           WORDS * 4);
        }
    };
    fetch(0);
    for (int k = 0; k < n_tiles; k++) {
        __syncthreads();
        fetch(k + 1);
        while (!ptx::mbarrier_try_wait_parity(&full[k % STAGES], k / STAGES % 2)) {
        }
        for (int i = t; i < WORDS; i += blockDim.x) tile[k % STAGES][i] = 3 * tile[k % STAGES][i] + k;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + k * WORDS, tile[k % STAGES], WORDS * 4);
            ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, tile[k % STAGES],
                                      WORDS * 4);
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (t == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
