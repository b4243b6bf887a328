// Kernels whose threads have different amounts of work, for the test that carries launches on from a part of them.

// Rows of different lengths, gathered: one thread per row of a sparse matrix in ELLPACK.
extern "C" __global__ void spmv_ell(const int* lengths, const int* columns, const float* values, const float* x,
                                    float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < lengths[row]; ++k) sum += values[k * rows + row] * x[columns[k * rows + row]];
    y[row] = sum;
}

// Steps of the Collatz sequence: loops whose length the data decide.
extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long value = start[i];
    unsigned count = 0;
    while (value > 1) {
        value = value & 1 ? 3 * value + 1 : value / 2;
        ++count;
    }
    steps[i] = count;
}

// Points in a polygon by crossings of its edges, with early ends for points outside of its box.
extern "C" __global__ void point_in_polygon(const float2* points, const float2* corners, int* inside, int n,
                                            int n_corners) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = points[i];
    int c = 0;
    if (p.x > -0.5f && p.x < 0.5f) {
        for (int a = 0, b = n_corners - 1; a < n_corners; b = a++) {
            float2 u = corners[a], v = corners[b];
            if ((u.y > p.y) != (v.y > p.y) && p.x < (v.x - u.x) * (p.y - u.y) / (v.y - u.y) + u.x) c = !c;
        }
    }
    inside[i] = c;
}

// One step of a breadth-first search: few of the vertices are in the frontier, and their degrees differ.
extern "C" __global__ void frontier(const int* degrees, const int* edges, const int* level, int* next, int n,
                                    int most, int now) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != now) return;
    for (int e = 0; e < degrees[v]; ++e) {
        int to = edges[v * most + e];
        if (level[to] > now) atomicMin(&next[to], now + 1);
    }
}
