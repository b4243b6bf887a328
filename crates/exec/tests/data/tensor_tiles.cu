// Boxes of a tensor: each block fetches two of 16 x 8 words, also beyond the edges, multiplies them while the other one
// is on its way, writes them back by another map, and adds the second one to a third tensor.
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda.h>
namespace ptx = cuda::ptx;

constexpr int COLUMNS = 16, ROWS = 8, WORDS = COLUMNS * ROWS;

// The buffers are there for the maps that lie in them.
extern "C" __global__ void tensor_tiles(int*, const int*, int*, const __grid_constant__ CUtensorMap from,
                                        const __grid_constant__ CUtensorMap to, const __grid_constant__ CUtensorMap sums) {
    __shared__ alignas(128) int tile[2][WORDS];
    __shared__ uint64_t full[2];
    int t = threadIdx.x, row = blockIdx.x * ROWS - 3;
    if (t == 0) {
        for (int s = 0; s < 2; s++) {
            ptx::mbarrier_init(&full[s], 1);
            int32_t corner[2] = {s * COLUMNS - 4, row};
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile[s], &from, corner, &full[s]);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], WORDS * 4);
        }
    }
    __syncthreads();
    for (int s = 0; s < 2; s++) {
        while (!ptx::mbarrier_try_wait_parity(&full[s], 0)) {
        }
        tile[s][t] = 3 * tile[s][t] + s;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            int32_t corner[2] = {s * COLUMNS, row};
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, corner, tile[s]);
            if (s == 1) {
                int32_t first[2] = {2, 0};
                ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &sums, first, tile[s]);
            }
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (t == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
