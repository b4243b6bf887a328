// Blocks that run together and use each other's shared memory.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// A histogram whose bins are spread over the blocks of a cluster.
extern "C" __global__ void __launch_bounds__(256) cluster_bins(const unsigned short *in, unsigned *bins, int n,
    int bins_per_block)
{
    extern __shared__ unsigned mine[];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) mine[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned bin = in[i];
        atomicAdd(cluster.map_shared_rank(mine, bin / bins_per_block) + bin % bins_per_block, 1u);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * bins_per_block + i], mine[i]);
}

// Normalises rows that are longer than a block's shared memory: a cluster of four keeps one row.
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(256) cluster_softmax(const float *in,
    float *out, int width)
{
    extern __shared__ float part[];
    __shared__ float scratch[8], mine[2];
    auto cluster = cg::this_cluster();
    const int rank = cluster.block_rank(), quarter = width / 4;
    const size_t at = static_cast<size_t>(blockIdx.x / 4) * width + rank * quarter;
    auto block_wide = [&](float value, bool largest) {
        for (int step = 16; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(~0u, value, step);
            value = largest ? fmaxf(value, other) : value + other;
        }
        __syncthreads();
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
        __syncthreads();
        value = scratch[0];
        for (int i = 1; i < 8; ++i) value = largest ? fmaxf(value, scratch[i]) : value + scratch[i];
        return value;
    };
    float top = -INFINITY;
    for (int i = threadIdx.x; i < quarter; i += 256) top = fmaxf(top, part[i] = in[at + i]);
    top = block_wide(top, true);
    if (threadIdx.x == 0) mine[0] = top;
    cluster.sync();
    for (int i = 0; i < 4; ++i) top = fmaxf(top, *cluster.map_shared_rank(&mine[0], i));
    float sum = 0;
    for (int i = threadIdx.x; i < quarter; i += 256) sum += part[i] = expf(part[i] - top);
    sum = block_wide(sum, false);
    if (threadIdx.x == 0) mine[1] = sum;
    cluster.sync();
    sum = 0;
    for (int i = 0; i < 4; ++i) sum += *cluster.map_shared_rank(&mine[1], i);
    for (int i = threadIdx.x; i < quarter; i += 256) out[at + i] = part[i] / sum;
    cluster.sync();
}

// A running sum goes around the blocks of a cluster: each adds its words and sends the sum with `st.async`.
extern "C" __global__ void __launch_bounds__(64) cluster_relay(const int *in, int *out)
{
    __shared__ __align__(16) int received[64];
    __shared__ uint64_t arrived;
    auto cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&arrived, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &arrived,
            sizeof(received));
    }
    cluster.sync();
    int sum = in[blockIdx.x * 64 + threadIdx.x];
    if (rank > 0) {
        while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {
        }
        sum += received[threadIdx.x];
    }
    if (rank + 1 < size) {
        int *to = cluster.map_shared_rank(&received[threadIdx.x], rank + 1);
        uint64_t *barrier = cluster.map_shared_rank(&arrived, rank + 1);
        ptx::st_async(to, sum, barrier);
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
    cluster.sync();
}

// Each block brings a word of the next one to all of its threads, in clusters of two dimensions.
extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster_neighbours(int *out, int width)
{
    __shared__ int mine[32];
    auto cluster = cg::this_cluster();
    const dim3 at = cluster.block_index(), size = cluster.dim_blocks();
    mine[threadIdx.x] = (blockIdx.y * gridDim.x + blockIdx.x) * 100 + threadIdx.x;
    cluster.sync();
    const unsigned across = at.y * size.x + (at.x + 1) % size.x, down = (at.y + 1) % size.y * size.x + at.x;
    const int sum = cluster.map_shared_rank(mine, across)[threadIdx.x] + 3 * cluster.map_shared_rank(mine,
        down)[31 - threadIdx.x];
    out[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + threadIdx.x] = sum + width *
        cluster.query_shared_rank(cluster.map_shared_rank(mine, down));
    cluster.sync();
}
