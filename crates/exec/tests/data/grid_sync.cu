// Blocks of a cooperative launch meet twice: each thread reads what threads of other blocks stored before.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(int* values, int* out) {
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    values[i] = i * 3;
    grid.sync();
    out[i] = values[(i + 37) % n];
    grid.sync();
    values[i] = out[n - 1 - i];
}
