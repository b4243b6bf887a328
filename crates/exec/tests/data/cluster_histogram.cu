// A histogram spread over the shared memory of the four blocks of a cluster: each thread adds to the bins of any of them,
// reads the place of its own block in the cluster, and the largest count is found by way of the first block.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

constexpr int BINS = 16;

extern "C" __global__ void __cluster_dims__(4, 1, 1)
cluster_histogram(int* out, int* largest, const int* in, int n) {
    __shared__ int bins[BINS];
    __shared__ int most;
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank(), blocks = cluster.num_blocks(), t = threadIdx.x;
    if (t < BINS) bins[t] = 0;
    if (t == 0) most = 0;
    cluster.sync();
    int first = (blockIdx.x / blocks) * n;
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
        int value = in[first + i];
        int* theirs = cluster.map_shared_rank(bins, value / BINS);
        atomicAdd(theirs + value % BINS, 1);
    }
    cluster.sync();
    if (t < BINS) {
        out[blockIdx.x * BINS + t] = bins[t];
        atomicMax(cluster.map_shared_rank(&most, 0), bins[t]);
    }
    cluster.sync();
    if (rank == blocks - 1 && t == 0) largest[blockIdx.x / blocks] = *cluster.map_shared_rank(&most, 0);
    cluster.sync();
}
