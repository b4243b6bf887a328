// Kernels of applications that papers on performance models validate with, written from what their algorithms do.

// A tracked point of a heart wall: the correlation of a template of its own with the picture around it, for all offsets
// up to 8 pixels. One block per point; the part of the picture that it needs is in shared memory.
extern "C" __global__ void heartwall_track(const float* frame, const float* templates, const int* point_x,
                                           const int* point_y, float* correlation, int width) {
    constexpr int TEMPLATE = 25, REACH = 8, OFFSETS = 2 * REACH + 1, WINDOW = TEMPLATE + 2 * REACH;
    __shared__ float window[WINDOW * WINDOW];
    __shared__ float pattern[TEMPLATE * TEMPLATE];
    int point = blockIdx.x;
    const float* corner = frame + point_y[point] * width + point_x[point];
    for (int i = threadIdx.x; i < WINDOW * WINDOW; i += blockDim.x) {
        window[i] = corner[i / WINDOW * width + i % WINDOW];
    }
    for (int i = threadIdx.x; i < TEMPLATE * TEMPLATE; i += blockDim.x) {
        pattern[i] = templates[point * TEMPLATE * TEMPLATE + i];
    }
    __syncthreads();
    for (int offset = threadIdx.x; offset < OFFSETS * OFFSETS; offset += blockDim.x) {
        const float* part = window + offset / OFFSETS * WINDOW + offset % OFFSETS;
        float sum = 0.0f;
        for (int y = 0; y < TEMPLATE; ++y) {
            for (int x = 0; x < TEMPLATE; ++x) {
                sum += part[y * WINDOW + x] * pattern[y * TEMPLATE + x];
            }
        }
        correlation[point * OFFSETS * OFFSETS + offset] = sum;
    }
}

// How much a pixel looks like the middle of a white blood cell: along circles of seven radii around it, the squared
// mean of the gradient across the circle over its variance; the largest of the seven. The picture has a margin on all
// sides.
extern "C" __global__ void leukocyte_score(const float* gradient_x, const float* gradient_y, float* score, int width,
                                           int height) {
    constexpr int POINTS = 36, RADII = 7, MARGIN = 24;
    __shared__ float cosine[POINTS], sine[POINTS];
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    if (thread < POINTS) {
        // A third of a step off the axes, where no offset lies near the middle between two pixels.
        float angle = (thread + 0.33f) * (6.2831853f / POINTS);
        cosine[thread] = cosf(angle);
        sine[thread] = sinf(angle);
    }
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    int row = width + 2 * MARGIN;
    float best = 0.0f;
    for (int k = 0; k < RADII; ++k) {
        float radius = 8.0f + 2.0f * k, sum = 0.0f, squares = 0.0f;
        for (int p = 0; p < POINTS; ++p) {
            int at = (y + MARGIN + __float2int_rn(radius * sine[p])) * row + x + MARGIN +
                     __float2int_rn(radius * cosine[p]);
            float across = gradient_x[at] * cosine[p] + gradient_y[at] * sine[p];
            sum += across;
            squares += across * across;
        }
        float mean = sum / POINTS;
        float variance = (squares - POINTS * mean * mean) / (POINTS - 1);
        best = fmaxf(best, mean * mean / variance);
    }
    score[y * width + x] = best;
}

// Distances of places to one place; latitude and longitude lie together.
extern "C" __global__ void nn_distances(const float2* places, float* distance, int count, float latitude,
                                        float longitude) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float north = places[i].x - latitude, east = places[i].y - longitude;
        distance[i] = sqrtf(north * north + east * east);
    }
}

// Needleman-Wunsch: the tiles on the longest diagonal of the score matrices of many pairs of sequences, a block of 32
// threads per tile of 32 x 32. Scores above and left of the tile are there already; threads walk the tile's diagonals.
extern "C" __global__ void nw_diagonal(int* scores, const int* similarity, int n, int penalty) {
    constexpr int TILE = 32;
    __shared__ int tile[TILE + 1][TILE + 2];
    int lane = threadIdx.x, row = n + 1;
    int tile_x = blockIdx.x, tile_y = gridDim.x - 1 - blockIdx.x;
    int* corner = scores + blockIdx.y * row * row + tile_y * TILE * row + tile_x * TILE;
    const int* likeness = similarity + blockIdx.y * n * n + tile_y * TILE * n + tile_x * TILE;
    tile[0][lane + 1] = corner[lane + 1];
    tile[lane + 1][0] = corner[(lane + 1) * row];
    if (lane == 0) {
        tile[0][0] = corner[0];
    }
    __syncwarp();
    for (int diagonal = 0; diagonal < 2 * TILE - 1; ++diagonal) {
        int y = diagonal - lane, x = lane;
        if (y >= 0 && y < TILE) {
            int matched = tile[y][x] + likeness[y * n + x];
            int gap = max(tile[y][x + 1], tile[y + 1][x]) - penalty;
            tile[y + 1][x + 1] = max(matched, gap);
        }
        __syncwarp();
    }
    for (int y = 0; y < TILE; ++y) {
        corner[(y + 1) * row + lane + 1] = tile[y + 1][lane + 1];
    }
}

// Back propagation, the way forward: sums over 16 inputs of input * weight for 16 hidden units, by a tree in shared
// memory; a block per 16 inputs, whose partial sums are added elsewhere.
extern "C" __global__ void backprop_forward(const float* input, const float* weights, float* partial) {
    constexpr int UNITS = 16;
    __shared__ float values[UNITS];
    __shared__ float products[UNITS][UNITS];
    int unit = threadIdx.x, own = threadIdx.y, first = blockIdx.x * UNITS;
    if (unit == 0) {
        values[own] = input[first + own];
    }
    __syncthreads();
    products[own][unit] = weights[(first + own) * UNITS + unit] * values[own];
    __syncthreads();
    for (int half = UNITS / 2; half > 0; half /= 2) {
        if (own < half) {
            products[own][unit] += products[own + half][unit];
        }
        __syncthreads();
    }
    if (own == 0) {
        partial[blockIdx.x * UNITS + unit] = products[0][unit];
    }
}

// Back propagation, the way back: weights move along what the layer above asks for, and along their last move.
extern "C" __global__ void backprop_adjust(const float* delta, const float* input, float* weights, float* last,
                                           float rate, float momentum) {
    constexpr int UNITS = 16;
    int row = blockIdx.x * UNITS + threadIdx.y, at = row * UNITS + threadIdx.x;
    float move = rate * delta[threadIdx.x] * input[row] + momentum * last[at];
    weights[at] += move;
    last[at] = move;
}

// The matrix of a 27-point operator on a grid of nx * ny * nz, times a vector: 27 stored values per row, column by
// column, and the columns follow from the grid. Rows at the rim have fewer.
extern "C" __global__ void hpccg_matrix(const double* values, const double* x, double* y, int nx, int ny, int nz) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, rows = nx * ny * nz;
    if (row >= rows) {
        return;
    }
    int ix = row % nx, iy = row / nx % ny, iz = row / (nx * ny);
    double sum = 0.0;
    int k = 0;
    for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx, ++k) {
                if (ix + dx >= 0 && ix + dx < nx && iy + dy >= 0 && iy + dy < ny && iz + dz >= 0 && iz + dz < nz) {
                    sum += values[k * rows + row] * x[row + (dz * ny + dy) * nx + dx];
                }
            }
        }
    }
    y[row] = sum;
}

extern "C" __global__ void hpccg_waxpby(double alpha, const double* x, double beta, const double* y, double* w, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        w[i] = alpha * x[i] + beta * y[i];
    }
}

// Partial sums of a dot product, one per block.
extern "C" __global__ void hpccg_dot(const double* x, const double* y, double* partial, int n) {
    __shared__ double sums[256];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i] * y[i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sums[0];
    }
}

// The hopping matrix of lattice quantum chromodynamics in double precision: to each site of a periodic lattice of four
// dimensions come the spinors of its eight neighbours, projected to half spinors (2 x 3 complex numbers) and multiplied
// by the links (3 x 3) between the sites. Layouts: arrays of structures, or an array for each component.
namespace lattice {
struct Complex {
    double re, im;
};

__device__ __forceinline__ Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }

// What projection and reconstruction multiply by: 1, i, -1, -i.
template <int POWER>
__device__ __forceinline__ Complex turned(Complex a) {
    if (POWER % 4 == 0) {
        return a;
    }
    if (POWER % 4 == 1) {
        return {-a.im, a.re};
    }
    if (POWER % 4 == 2) {
        return {-a.re, -a.im};
    }
    return {a.im, -a.re};
}

template <bool SOA>
__device__ __forceinline__ Complex load(const double* field, int components, int sites, int site, int component) {
    if (SOA) {
        return {field[2 * component * sites + site], field[(2 * component + 1) * sites + site]};
    }
    const double* own = field + 2 * (site * components + component);
    return {own[0], own[1]};
}

// Adds what comes from one neighbour. The half spinor is h0 = s0 + i^P0 s(O0), h1 = s1 + i^P1 s(O1), where the signs of
// the second part turn around for backward hops; the lower spins come back by the inverse turns.
template <bool SOA, bool BACK, int O0, int P0, int O1, int P1>
__device__ __forceinline__ void hop(const double* spinors, const double* links, int sites, int neighbour, int link_site,
                                    int direction, Complex (&sum)[4][3]) {
    constexpr int SIGN = BACK ? 2 : 0;
    Complex half[2][3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        half[0][c] = load<SOA>(spinors, 12, sites, neighbour, c) +
                     turned<P0 + SIGN>(load<SOA>(spinors, 12, sites, neighbour, 3 * O0 + c));
        half[1][c] = load<SOA>(spinors, 12, sites, neighbour, 3 + c) +
                     turned<P1 + SIGN>(load<SOA>(spinors, 12, sites, neighbour, 3 * O1 + c));
    }
#pragma unroll
    for (int row = 0; row < 3; ++row) {
        Complex out[2] = {};
#pragma unroll
        for (int column = 0; column < 3; ++column) {
            // Backward, the link is that of the neighbour, transposed and conjugated.
            int element = 9 * direction + (BACK ? 3 * column + row : 3 * row + column);
            Complex link = load<SOA>(links, 36, sites, link_site, element);
            double im = BACK ? -link.im : link.im;
#pragma unroll
            for (int spin = 0; spin < 2; ++spin) {
                Complex of = half[spin][column];
                out[spin].re += link.re * of.re - im * of.im;
                out[spin].im += link.re * of.im + im * of.re;
            }
        }
        sum[0][row] = sum[0][row] + out[0];
        sum[1][row] = sum[1][row] + out[1];
        sum[O0][row] = sum[O0][row] + turned<8 - P0 - SIGN>(out[0]);
        sum[O1][row] = sum[O1][row] + turned<8 - P1 - SIGN>(out[1]);
    }
}

template <bool SOA, int O0, int P0, int O1, int P1>
__device__ __forceinline__ void axis(const double* spinors, const double* links, int sites, int site, int direction,
                                     int stride, int edge, Complex (&sum)[4][3]) {
    int at = site / stride % edge;
    int forward = at + 1 < edge ? site + stride : site - (edge - 1) * stride;
    int back = at > 0 ? site - stride : site + (edge - 1) * stride;
    hop<SOA, false, O0, P0, O1, P1>(spinors, links, sites, forward, site, direction, sum);
    hop<SOA, true, O0, P0, O1, P1>(spinors, links, sites, back, back, direction, sum);
}

template <bool SOA>
__device__ __forceinline__ void hopping(const double* spinors, const double* links, double* out, int edge) {
    int sites = edge * edge * edge * edge;
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites) {
        return;
    }
    Complex sum[4][3] = {};
    axis<SOA, 3, 1, 2, 1>(spinors, links, sites, site, 0, 1, edge, sum);
    axis<SOA, 3, 0, 2, 2>(spinors, links, sites, site, 1, edge, edge, sum);
    axis<SOA, 2, 1, 3, 3>(spinors, links, sites, site, 2, edge * edge, edge, sum);
    axis<SOA, 2, 0, 3, 0>(spinors, links, sites, site, 3, edge * edge * edge, edge, sum);
#pragma unroll
    for (int i = 0; i < 12; ++i) {
        Complex value = sum[i / 3][i % 3];
        out[SOA ? 2 * i * sites + site : 2 * (12 * site + i)] = value.re;
        out[SOA ? (2 * i + 1) * sites + site : 2 * (12 * site + i) + 1] = value.im;
    }
}
}  // namespace lattice

extern "C" __global__ void __launch_bounds__(128)
    hopping_structures(const double* spinors, const double* links, double* out, int edge) {
    lattice::hopping<false>(spinors, links, out, edge);
}

extern "C" __global__ void __launch_bounds__(128)
    hopping_arrays(const double* spinors, const double* links, double* out, int edge) {
    lattice::hopping<true>(spinors, links, out, edge);
}

// The near field of the fast multipole method on a cube of boxes: potentials of a box's points from those of the 27
// boxes around it, itself included, as far as they lie in the cube. Boxes hold up to as many points as a block has
// threads.
extern "C" __global__ void fmm_boxes(const float4* points, const int* counts, float* potential, int edge) {
    extern __shared__ float4 sources[];
    int capacity = blockDim.x, thread = threadIdx.x;
    int x = blockIdx.x, y = blockIdx.y, z = blockIdx.z;
    int box = (z * edge + y) * edge + x;
    bool has_target = thread < counts[box];
    float4 target = points[box * capacity + thread];
    float sum = 0.0f;
    for (int neighbour = 0; neighbour < 27; ++neighbour) {
        int nx = x + neighbour % 3 - 1, ny = y + neighbour / 3 % 3 - 1, nz = z + neighbour / 9 - 1;
        if (nx < 0 || ny < 0 || nz < 0 || nx >= edge || ny >= edge || nz >= edge) {
            continue;
        }
        int other = (nz * edge + ny) * edge + nx, count = counts[other];
        __syncthreads();
        if (thread < count) {
            sources[thread] = points[other * capacity + thread];
        }
        __syncthreads();
        if (has_target) {
            for (int s = 0; s < count; ++s) {
                float dx = target.x - sources[s].x, dy = target.y - sources[s].y, dz = target.z - sources[s].z;
                // Softened, so that a point may meet itself.
                sum += sources[s].w * rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
            }
        }
    }
    if (has_target) {
        potential[box * capacity + thread] = sum;
    }
}
