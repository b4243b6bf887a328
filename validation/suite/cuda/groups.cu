// Cooperative groups, and what the lanes of a warp tell each other.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Jacobi's iteration on a square grid, all steps in one launch; every block meets all others between two steps.
extern "C" __global__ void __launch_bounds__(256) grid_jacobi(float *a, float *b, int n, int steps)
{
    auto grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        const float *from = step % 2 ? b : a;
        float *to = step % 2 ? a : b;
        for (int i = grid.thread_rank(); i < n * n; i += grid.size()) {
            const int x = i % n, y = i / n;
            const bool inside = x > 0 && y > 0 && x < n - 1 && y < n - 1;
            to[i] = inside ? 0.25f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n]) : from[i];
        }
        grid.sync();
    }
}

// Sums of tiles of 4, 8 and 16 lanes and scans of 32.
extern "C" __global__ void __launch_bounds__(128) tile_sums(const int *in, int *four, int *eight, int *sixteen,
    int *scanned)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
    auto block = cg::this_thread_block();
    auto tile_4 = cg::tiled_partition<4>(block);
    auto tile_8 = cg::tiled_partition<8>(block);
    auto tile_16 = cg::tiled_partition<16>(block);
    auto warp = cg::tiled_partition<32>(block);
    four[i] = cg::reduce(tile_4, value, cg::plus<int>());
    eight[i] = cg::reduce(tile_8, value, cg::less<int>()) + tile_8.meta_group_rank();
    sixteen[i] = cg::reduce(tile_16, value, cg::bit_xor<int>());
    scanned[i] = cg::exclusive_scan(warp, value, cg::plus<int>());
}

// Groups made by what lanes have in common: by a label of eight, and by a condition.
extern "C" __global__ void __launch_bounds__(128) label_groups(const unsigned *in, unsigned *by_label,
    unsigned *by_parity)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, static_cast<int>(in[i] % 8));
    by_label[i] = cg::reduce(same, in[i], cg::plus<unsigned>()) * 32 + same.thread_rank();
    auto half = cg::binary_partition(warp, in[i] % 2 == 1);
    by_parity[i] = half.size() * 1000 + half.shfl(in[i] % 1000, half.size() - 1);
}

// Positive values are kept in any order: lanes that keep one ask for places together.
extern "C" __global__ void __launch_bounds__(256) coalesced_filter(const int *in, int n, int *out, unsigned *count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (in[i] > 0) {
            auto group = cg::coalesced_threads();
            unsigned first = 0;
            if (group.thread_rank() == 0) first = atomicAdd(count, group.size());
            out[group.shfl(first, 0) + group.thread_rank()] = in[i];
        }
}

// Equal keys are counted once per warp, by `match`.
extern "C" __global__ void __launch_bounds__(256) match_counts(const int *keys, int n, int *counts)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned active = __activemask();
    const unsigned same = __match_any_sync(active, keys[i]);
    int all = 0;
    __match_all_sync(active, keys[i] < 1000, &all);
    if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&counts[keys[i]], __popc(same) * (all ? 1 : 100));
}

// The selected words in their order: ballots inside of warps, a scan over the warps of a block, one block per row.
extern "C" __global__ void __launch_bounds__(256) ballot_compact(const float *in, int width, float limit, float *out,
    int *kept)
{
    __shared__ int sums[8];
    int base = 0;
    const float *row = in + blockIdx.x * width;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int start = 0; start < width; start += 256) {
        const int i = start + threadIdx.x;
        const bool keeps = i < width && row[i] < limit;
        const unsigned ballot = __ballot_sync(~0u, keeps);
        if (lane == 0) sums[warp] = __popc(ballot);
        __syncthreads();
        int before = 0, total = 0;
        for (int w = 0; w < 8; ++w) {
            before += w < warp ? sums[w] : 0;
            total += sums[w];
        }
        unsigned below;
        asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
        if (keeps) out[blockIdx.x * width + base + before + __popc(ballot & below)] = row[i];
        base += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) kept[blockIdx.x] = base;
    if (__syncthreads_count(base > width / 2) == 256 && threadIdx.x == 1) kept[blockIdx.x] = -base;
}
