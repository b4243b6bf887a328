// A ring of blocks: each hands its tile to the next block of the cluster by a bulk copy that tells the barrier there, adds
// what came to its own, and says to the block before that the tile may be overwritten.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

constexpr int WORDS = 128;

extern "C" __global__ void cluster_ring(int* out, const int* in, int turns) {
    __shared__ alignas(128) int mine[WORDS];
    __shared__ alignas(128) int came[WORDS];
    __shared__ uint64_t full, empty;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::mbarrier_init(&empty, 1);
    }
    mine[t] = in[blockIdx.x * WORDS + t];
    ptx::fence_proxy_async(ptx::space_shared);
    cluster.sync();
    unsigned next = (rank + 1) % blocks, before = (rank + blocks - 1) % blocks;
    int sum = 0;
    for (int k = 0; k < turns; k++) {
        if (t == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, WORDS * 4);
            if (k > 0) {
                while (!ptx::mbarrier_try_wait_parity(&empty, (k - 1) % 2)) {
                }
            }
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(came, next), mine,
                               WORDS * 4, cluster.map_shared_rank(&full, next));
        }
        while (!ptx::mbarrier_try_wait_parity(&full, k % 2)) {
        }
        int value = came[t];
        sum += (k + 1) * value;
        cluster.sync();
        mine[t] = value;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                                 cluster.map_shared_rank(&empty, before));
        }
    }
    out[blockIdx.x * WORDS + t] = sum;
    cluster.sync();
}
