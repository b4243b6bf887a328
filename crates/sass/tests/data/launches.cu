// What kernels say of their launches: clusters, bounds, groups of threads, many parameters.
#include <cooperative_groups.h>

struct Large {
    int values[1200];
};

extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(int* out) {
    out[threadIdx.x] = 1;
    cooperative_groups::this_cluster().sync();
    out[0] = out[5];
}

extern "C" __global__ void __launch_bounds__(256, 1, 4) bounded(int* out) { out[threadIdx.x] = 1; }

extern "C" __global__ void grid_wide(int* out) {
    out[threadIdx.x] = 1;
    cooperative_groups::this_grid().sync();
    out[0] = out[5];
}

extern "C" __global__ void many_bytes(Large large, int* out, char shift) {
    out[threadIdx.x] = large.values[threadIdx.x] + shift;
}
