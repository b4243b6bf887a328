// One level of a breadth-first search: frontier flags, irregular gathers, an atomic claim.
extern "C" __global__ void bfs_level(const int* row_start, const int* neighbour, int* level, int* next_size, int* next, const int* frontier, int size, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int v = frontier[i];
    for (int e = row_start[v]; e < row_start[v + 1]; ++e) {
        int u = neighbour[e];
        if (level[u] < 0 && atomicCAS(&level[u], -1, depth) == -1) next[atomicAdd(next_size, 1)] = u;
    }
}
