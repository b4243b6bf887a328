// Cooperative groups: a block, tiles of 8 with a reduction and a scan, and the group of lanes that took a branch.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cooperative(const int* a, int* sum, int* scan, int* rank, int* largest) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int t = block.thread_rank();
    int v = a[t];
    sum[t] = cg::reduce(tile, v, cg::plus<int>());
    scan[t] = cg::inclusive_scan(tile, v);
    largest[t] = cg::reduce(cg::tiled_partition<32>(block), v, cg::greater<int>());
    rank[t] = -1;
    if (v % 2) {
        cg::coalesced_group group = cg::coalesced_threads();
        // Every member gets a distinct rank below the size of the group, whichever lanes run together.
        rank[t] = group.thread_rank() < group.size() ? 1 : 0;
    }
    block.sync();
}
