// Products of matrices and vectors in single precision, each step of the ladder with one more idea than the one before.
//
// Matrices are square of n rows in row-major order, n is a multiple of the tile. The ladder goes on in products_half.cu
// with tensor cores; its coalesced and its tiled step are examples/matmul_naive and examples/matmul_tiled.

// Neighbouring threads take neighbouring rows, so that a warp's loads of A and stores of C lie n words apart.
extern "C" __global__ void product_by_columns(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        sum += a[row * n + k] * b[k * n + column];
    }
    c[row * n + column] = sum;
}

// 64 x 64 elements of C per block of 16 x 16 threads, 4 x 4 of them in the registers of a thread.
extern "C" __global__ void __launch_bounds__(256)
    product_register_tile(const float* a, const float* b, float* c, int n) {
    constexpr int TILE = 64, DEPTH = 16, EACH = 4;
    __shared__ float tile_a[DEPTH][TILE + 1];
    __shared__ float tile_b[DEPTH][TILE];
    int thread = threadIdx.y * 16 + threadIdx.x;
    const float* rows = a + blockIdx.y * TILE * n;
    const float* columns = b + blockIdx.x * TILE;
    float sum[EACH][EACH] = {};
    for (int first = 0; first < n; first += DEPTH) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            int row = thread / DEPTH + 16 * i, depth = thread / TILE + 4 * i;
            tile_a[thread % DEPTH][row] = rows[row * n + first + thread % DEPTH];
            tile_b[depth][thread % TILE] = columns[(first + depth) * n + thread % TILE];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float left[EACH], right[EACH];
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
                left[i] = tile_a[k][threadIdx.y + 16 * i];
                right[i] = tile_b[k][threadIdx.x + 16 * i];
            }
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
#pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    sum[i][j] += left[i] * right[j];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            c[(blockIdx.y * TILE + threadIdx.y + 16 * i) * n + blockIdx.x * TILE + threadIdx.x + 16 * j] = sum[i][j];
        }
    }
}

// 128 x 128 elements of C per block of 256 threads, 8 x 8 in the registers of a thread; A's tile is transposed on its
// way into shared memory, so that both tiles are read there as vectors.
namespace wide {
constexpr int TILE = 128, DEPTH = 8, EACH = 8, PAD = 4;

// The four neighbouring elements of each tile that a thread brings.
struct Piece {
    float4 a, b;
};

struct Stage {
    float a[DEPTH][TILE + PAD];
    float b[DEPTH][TILE];
};

__device__ __forceinline__ Piece fetch(const float* rows, const float* columns, int n, int first) {
    int thread = threadIdx.x;
    return {*reinterpret_cast<const float4*>(rows + thread / 2 * n + first + thread % 2 * 4),
            *reinterpret_cast<const float4*>(columns + (first + thread / 32) * n + thread % 32 * 4)};
}

__device__ __forceinline__ void keep(Stage& stage, Piece piece) {
    int row = threadIdx.x / 2, k = threadIdx.x % 2 * 4;
    stage.a[k][row] = piece.a.x;
    stage.a[k + 1][row] = piece.a.y;
    stage.a[k + 2][row] = piece.a.z;
    stage.a[k + 3][row] = piece.a.w;
    *reinterpret_cast<float4*>(&stage.b[threadIdx.x / 32][threadIdx.x % 32 * 4]) = piece.b;
}

// A thread's elements are two groups of four in each direction, 64 apart: lanes read neighbouring vectors.
__device__ __forceinline__ void multiply(const Stage& stage, float (&sum)[EACH][EACH]) {
    int y = threadIdx.x / 16 * 4, x = threadIdx.x % 16 * 4;
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
        float left[EACH], right[EACH];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            *reinterpret_cast<float4*>(left + 4 * half) = *reinterpret_cast<const float4*>(&stage.a[k][y + 64 * half]);
            *reinterpret_cast<float4*>(right + 4 * half) = *reinterpret_cast<const float4*>(&stage.b[k][x + 64 * half]);
        }
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
#pragma unroll
            for (int j = 0; j < EACH; ++j) {
                sum[i][j] += left[i] * right[j];
            }
        }
    }
}

__device__ __forceinline__ void store(float* c, int n, const float (&sum)[EACH][EACH]) {
    int y = blockIdx.y * TILE + threadIdx.x / 16 * 4, x = blockIdx.x * TILE + threadIdx.x % 16 * 4;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
#pragma unroll
        for (int j = 0; j < EACH; j += 4) {
            float4 four = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            *reinterpret_cast<float4*>(c + (y + i % 4 + i / 4 * 64) * n + x + j * 16) = four;
        }
    }
}
}  // namespace wide

extern "C" __global__ void __launch_bounds__(256) product_vectors(const float* a, const float* b, float* c, int n) {
    using namespace wide;
    __shared__ __align__(16) Stage stage;
    const float* rows = a + blockIdx.y * TILE * n;
    const float* columns = b + blockIdx.x * TILE;
    float sum[EACH][EACH] = {};
    for (int first = 0; first < n; first += DEPTH) {
        keep(stage, fetch(rows, columns, n, first));
        __syncthreads();
        multiply(stage, sum);
        __syncthreads();
    }
    store(c, n, sum);
}

// The next tiles come while the present ones are multiplied: one barrier per step, and loads that nobody waits for.
extern "C" __global__ void __launch_bounds__(256) product_two_buffers(const float* a, const float* b, float* c, int n) {
    using namespace wide;
    __shared__ __align__(16) Stage stages[2];
    const float* rows = a + blockIdx.y * TILE * n;
    const float* columns = b + blockIdx.x * TILE;
    float sum[EACH][EACH] = {};
    keep(stages[0], fetch(rows, columns, n, 0));
    __syncthreads();
    int present = 0;
    for (int first = DEPTH; first < n; first += DEPTH) {
        Piece next = fetch(rows, columns, n, first);
        multiply(stages[present], sum);
        keep(stages[present ^ 1], next);
        __syncthreads();
        present ^= 1;
    }
    multiply(stages[present], sum);
    store(c, n, sum);
}

// y = A * x with a warp per row.
extern "C" __global__ void gemv_warps(const float* a, const float* x, float* y, int rows, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    const float* own = a + (size_t)row * columns;
    float sum = 0.0f;
    for (int j = 4 * lane; j < columns; j += 128) {
        float4 four = *reinterpret_cast<const float4*>(own + j), with = *reinterpret_cast<const float4*>(x + j);
        sum += four.x * with.x + four.y * with.y + four.z * with.z + four.w * with.w;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

// Products of many pairs of 16 x 16 matrices, a warp per pair, half a row of the result per lane.
extern "C" __global__ void product_batched(const float* a, const float* b, float* c, int count) {
    constexpr int N = 16, WARPS = 4;
    __shared__ __align__(16) float tiles[WARPS][2][N * N];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int pair = blockIdx.x * WARPS + warp;
    if (pair >= count) {
        return;
    }
    float* left = tiles[warp][0];
    float* right = tiles[warp][1];
    for (int i = 4 * lane; i < N * N; i += 128) {
        *reinterpret_cast<float4*>(left + i) = *reinterpret_cast<const float4*>(a + pair * N * N + i);
        *reinterpret_cast<float4*>(right + i) = *reinterpret_cast<const float4*>(b + pair * N * N + i);
    }
    __syncwarp();
    int row = lane / 2, first = lane % 2 * 8;
    float sum[8] = {};
#pragma unroll
    for (int k = 0; k < N; ++k) {
        float value = left[row * N + k];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            sum[j] += value * right[k * N + first + j];
        }
    }
    float* out = c + pair * N * N + row * N + first;
    *reinterpret_cast<float4*>(out) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    *reinterpret_cast<float4*>(out + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

// The two halves of y = A' * (A * x) of square matrices, one thread per element of the result.
extern "C" __global__ void atax_rows(const float* a, const float* x, float* between, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) {
        return;
    }
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) {
        sum += a[row * n + j] * x[j];
    }
    between[row] = sum;
}

extern "C" __global__ void atax_columns(const float* a, const float* between, float* y, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) {
        return;
    }
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += a[i * n + column] * between[i];
    }
    y[column] = sum;
}

// The step of a blocked LU decomposition that does the work: C -= L * U, where the first `done` rows and columns of the
// matrix are decomposed, L is the block column and U the block row next to them, both 16 wide.
extern "C" __global__ void lud_internal(float* matrix, int n, int done) {
    constexpr int TILE = 16;
    __shared__ float lower[TILE][TILE], upper[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = done + (blockIdx.y + 1) * TILE + y, column = done + (blockIdx.x + 1) * TILE + x;
    lower[y][x] = matrix[row * n + done + x];
    upper[y][x] = matrix[(done + y) * n + column];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < TILE; ++k) {
        sum += lower[y][k] * upper[k][x];
    }
    matrix[row * n + column] -= sum;
}
