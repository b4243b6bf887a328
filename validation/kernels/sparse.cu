// Sparse matrices and graphs.
//
// Rows of compressed matrices (CSR) hold different numbers of elements: row r begins at r * average + shift[r] with
// shifts from 0 to average - 1, of which there is one more than rows. So starts rise, whatever the shifts are, rows
// have 1 to 2 * average - 1 elements, and the shifts are evenly drawn numbers that every host makes alike.

__device__ __forceinline__ int start(const int* shift, int row, int average) { return row * average + shift[row]; }

// One thread per row.
extern "C" __global__ void spmv_rows(const int* shift, const int* columns, const float* values, const float* x,
                                     float* y, int rows, int average) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int i = start(shift, row, average); i < start(shift, row + 1, average); ++i) {
        sum += values[i] * x[columns[i]];
    }
    y[row] = sum;
}

// One warp per row.
extern "C" __global__ void spmv_warps(const int* shift, const int* columns, const float* values, const float* x,
                                      float* y, int rows, int average) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    int end = start(shift, row + 1, average);
    for (int i = start(shift, row, average) + lane; i < end; i += 32) {
        sum += values[i] * x[columns[i]];
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

// ELLPACK: all rows have the same number of elements, which lie column by column, so that neighbouring threads read
// neighbouring words.
extern "C" __global__ void spmv_ell(const int* columns, const float* values, const float* x, float* y, int rows,
                                    int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int k = 0; k < width; ++k) {
        sum += values[k * rows + row] * x[columns[k * rows + row]];
    }
    y[row] = sum;
}

// A step of breadth-first search: the vertices of this level give the next level to neighbours that have a later one.
// Several may do so for the same neighbour, all with the same value.
extern "C" __global__ void bfs_step(const int* shift, const int* neighbours, int* level, int vertices, int average,
                                    int now) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= vertices || level[vertex] != now) {
        return;
    }
    for (int i = start(shift, vertex, average); i < start(shift, vertex + 1, average); ++i) {
        if (level[neighbours[i]] > now + 1) {
            level[neighbours[i]] = now + 1;
        }
    }
}

// The same with a queue of the vertices that are reached for the first time; `level` tells by compare-and-swap.
extern "C" __global__ void bfs_queue(const int* shift, const int* neighbours, int* level, const int* frontier,
                                     int frontier_size, int average, int unreached, int next, int* queue_size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size) {
        return;
    }
    int vertex = frontier[i], found = 0;
    for (int e = start(shift, vertex, average); e < start(shift, vertex + 1, average); ++e) {
        if (atomicCAS(&level[neighbours[e]], unreached, next) == unreached) {
            ++found;
        }
    }
    if (found > 0) {
        atomicAdd(queue_size, found);
    }
}

// A step of PageRank: each vertex adds up the shares of those that point to it.
extern "C" __global__ void pagerank_step(const int* shift, const int* sources, const float* share, float* rank,
                                         int vertices, int average, float damping) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= vertices) {
        return;
    }
    float sum = 0.0f;
    for (int i = start(shift, vertex, average); i < start(shift, vertex + 1, average); ++i) {
        sum += share[sources[i]];
    }
    rank[vertex] = (1.0f - damping) / vertices + damping * sum;
}
