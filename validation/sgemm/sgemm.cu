// C = alpha * A * B + beta * C in single precision, eleven times: the steps from a naive kernel to one that comes close to
// the vendor's library. Tile sizes, layouts and launches are those of the measured kernels (siboehm/SGEMM_CUDA); the
// code is our own. Matrices lie row by row: A is m x k, B is k x n. Sizes are multiples of the tiles.
//
// `regenerate.py` makes sm_86.ptx of it by NVRTC, which the H200 ran, and sm_86_nvcc.ptx by nvcc, as the A6000 had it.

#define SHAPE int m, int n, int k, float alpha
#define MATRICES float *a, float *b, float beta, float *c

// Steps 1 and 2: a thread for each number of C, 32 x 32 of them in a CTA.
template <class Index>
__device__ __forceinline__ void naive(SHAPE, MATRICES, Index row, Index column)
{
    if (row < m && column < n) {
        float sum = 0;
        for (int i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}

// Neighbouring threads have neighbouring rows.
extern "C" __global__ void step1(SHAPE, MATRICES)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    naive(m, n, k, alpha, a, b, beta, c, row, column);
}

// Neighbouring threads have neighbouring columns.
extern "C" __global__ void step2(SHAPE, MATRICES)
{
    naive<int>(m, n, k, alpha, a, b, beta, c, blockIdx.x * 32 + threadIdx.x / 32, blockIdx.y * 32 + threadIdx.x % 32);
}

// 32 x 32 tiles of both operands in shared memory.
extern "C" __global__ void step3(SHAPE, MATRICES)
{
    __shared__ float a_tile[32 * 32], b_tile[32 * 32];
    unsigned row = threadIdx.x / 32, column = threadIdx.x % 32;
    a += blockIdx.x * 32 * k;
    b += blockIdx.y * 32;
    c += blockIdx.x * 32 * n + blockIdx.y * 32;
    float sum = 0;
    for (int step = 0; step < k; step += 32) {
        a_tile[row * 32 + column] = a[row * k + column];
        b_tile[row * 32 + column] = b[row * n + column];
        __syncthreads();
        a += 32;
        b += 32 * n;
        for (int i = 0; i < 32; i++)
            sum += a_tile[row * 32 + i] * b_tile[i * 32 + column];
        __syncthreads();
    }
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// A thread has eight numbers of a column; a CTA 64 x 64 in steps of 8 along k.
extern "C" __global__ void step4(SHAPE, MATRICES)
{
    constexpr int M = 64, N = 64, K = 8, EACH = 8;
    __shared__ float a_tile[M * K], b_tile[K * N];
    int column = threadIdx.x % N, row = threadIdx.x / N;
    unsigned a_row = threadIdx.x / K, a_column = threadIdx.x % K;
    unsigned b_row = threadIdx.x / N, b_column = threadIdx.x % N;
    a += blockIdx.y * M * k;
    b += blockIdx.x * N;
    c += blockIdx.y * M * n + blockIdx.x * N;
    float sums[EACH] = {};
    for (unsigned step = 0; step < k; step += K) {
        a_tile[a_row * K + a_column] = a[a_row * k + a_column];
        b_tile[b_row * N + b_column] = b[b_row * n + b_column];
        __syncthreads();
        a += K;
        b += K * n;
        for (unsigned i = 0; i < K; i++) {
            float right = b_tile[i * N + column];
            for (unsigned y = 0; y < EACH; y++)
                sums[y] += a_tile[(row * EACH + y) * K + i] * right;
        }
        __syncthreads();
    }
    for (unsigned y = 0; y < EACH; y++) {
        float *out = &c[(row * EACH + y) * n + column];
        *out = alpha * sums[y] + beta * *out;
    }
}

// A thread has 8 x 8 numbers, a CTA of 256 threads 128 x 128.
extern "C" __global__ void __launch_bounds__(256, 1) step5(SHAPE, MATRICES)
{
    constexpr int M = 128, N = 128, K = 8, EACH = 8, THREADS = 256;
    __shared__ float a_tile[M * K], b_tile[K * N];
    int column = threadIdx.x % (N / EACH), row = threadIdx.x / (N / EACH);
    unsigned a_row = threadIdx.x / K, a_column = threadIdx.x % K;
    unsigned b_row = threadIdx.x / N, b_column = threadIdx.x % N;
    a += blockIdx.y * M * k;
    b += blockIdx.x * N;
    c += blockIdx.y * M * n + blockIdx.x * N;
    float sums[EACH * EACH] = {}, left[EACH] = {}, right[EACH] = {};
    for (unsigned step = 0; step < k; step += K) {
        for (unsigned down = 0; down < M; down += THREADS / K)
            a_tile[(a_row + down) * K + a_column] = a[(a_row + down) * k + a_column];
        for (unsigned down = 0; down < K; down += THREADS / N)
            b_tile[(b_row + down) * N + b_column] = b[(b_row + down) * n + b_column];
        __syncthreads();
        a += K;
        b += K * n;
        for (unsigned i = 0; i < K; i++) {
            for (unsigned y = 0; y < EACH; y++)
                left[y] = a_tile[(row * EACH + y) * K + i];
            for (unsigned x = 0; x < EACH; x++)
                right[x] = b_tile[i * N + column * EACH + x];
            for (unsigned y = 0; y < EACH; y++)
                for (unsigned x = 0; x < EACH; x++)
                    sums[y * EACH + x] += left[y] * right[x];
        }
        __syncthreads();
    }
    for (unsigned y = 0; y < EACH; y++)
        for (unsigned x = 0; x < EACH; x++) {
            float *out = &c[(row * EACH + y) * n + column * EACH + x];
            *out = alpha * sums[y * EACH + x] + beta * *out;
        }
}

__device__ __forceinline__ float4 &four(float *of)
{
    return *reinterpret_cast<float4 *>(of);
}

// Four neighbours of C.
__device__ __forceinline__ void store(float *c, float alpha, const float *sums, float beta)
{
    float4 out = four(c);
    out.x = alpha * sums[0] + beta * out.x;
    out.y = alpha * sums[1] + beta * out.y;
    out.z = alpha * sums[2] + beta * out.z;
    out.w = alpha * sums[3] + beta * out.w;
    four(c) = out;
}

// Four neighbours of A, which become neighbours of a column.
template <int M>
__device__ __forceinline__ void transpose(float *tile, unsigned row, unsigned column, float4 of)
{
    tile[(column * 4 + 0) * M + row] = of.x;
    tile[(column * 4 + 1) * M + row] = of.y;
    tile[(column * 4 + 2) * M + row] = of.z;
    tile[(column * 4 + 3) * M + row] = of.w;
}

// How a tile of B lies in shared memory: as in B; so that the numbers that threads read at once are neighbours; with
// five columns more than it needs.
struct AsItIs {
    static constexpr int COLUMNS = 128;
    static __device__ __forceinline__ void put(float *tile, unsigned row, unsigned column, float *from)
    {
        four(&tile[row * 128 + column * 4]) = four(from);
    }
    static __device__ __forceinline__ float at(const float *tile, unsigned i, unsigned column, unsigned x)
    {
        return tile[i * 128 + column * 8 + x];
    }
};

struct Linear {
    static constexpr int COLUMNS = 128;
    static __device__ __forceinline__ void put(float *tile, unsigned row, unsigned column, float *from)
    {
        float4 of = four(from);
        tile[((column % 2) * 4 + row * 8 + 0) * 16 + column / 2] = of.x;
        tile[((column % 2) * 4 + row * 8 + 1) * 16 + column / 2] = of.y;
        tile[((column % 2) * 4 + row * 8 + 2) * 16 + column / 2] = of.z;
        tile[((column % 2) * 4 + row * 8 + 3) * 16 + column / 2] = of.w;
    }
    static __device__ __forceinline__ float at(const float *tile, unsigned i, unsigned column, unsigned x)
    {
        return tile[(i * 8 + x) * 16 + column];
    }
};

struct Wider {
    static constexpr int COLUMNS = 128 + 5;
    static __device__ __forceinline__ void put(float *tile, unsigned row, unsigned column, float *from)
    {
        float4 of = four(from);
        tile[row * COLUMNS + column * 4 + 0] = of.x;
        tile[row * COLUMNS + column * 4 + 1] = of.y;
        tile[row * COLUMNS + column * 4 + 2] = of.z;
        tile[row * COLUMNS + column * 4 + 3] = of.w;
    }
    static __device__ __forceinline__ float at(const float *tile, unsigned i, unsigned column, unsigned x)
    {
        return tile[i * COLUMNS + column * 8 + x];
    }
};

// Loads of four neighbours, with A transposed in shared memory; K numbers along k at a time.
template <int K, class Layout>
__device__ __forceinline__ void vectors(SHAPE, MATRICES, float *a_tile, float *b_tile)
{
    constexpr int M = 128, N = 128, EACH = 8, THREADS = 256;
    int column = threadIdx.x % (N / EACH), row = threadIdx.x / (N / EACH);
    unsigned a_row = threadIdx.x / (K / 4), a_column = threadIdx.x % (K / 4);
    unsigned b_row = threadIdx.x / (N / 4), b_column = threadIdx.x % (N / 4);
    a += blockIdx.y * M * k;
    b += blockIdx.x * N;
    c += blockIdx.y * M * n + blockIdx.x * N;
    float sums[EACH * EACH] = {}, left[EACH] = {}, right[EACH] = {};
    for (unsigned step = 0; step < k; step += K) {
        for (unsigned down = 0; down < M; down += THREADS * 4 / K)
            transpose<M>(a_tile, a_row + down, a_column, four(&a[(a_row + down) * k + a_column * 4]));
        for (unsigned down = 0; down < K; down += THREADS * 4 / N)
            Layout::put(b_tile, b_row + down, b_column, &b[(b_row + down) * n + b_column * 4]);
        __syncthreads();
        a += K;
        b += K * n;
        for (unsigned i = 0; i < K; i++) {
            for (unsigned y = 0; y < EACH; y++)
                left[y] = a_tile[i * M + row * EACH + y];
            for (unsigned x = 0; x < EACH; x++)
                right[x] = Layout::at(b_tile, i, column, x);
            for (unsigned y = 0; y < EACH; y++)
                for (unsigned x = 0; x < EACH; x++)
                    sums[y * EACH + x] += left[y] * right[x];
        }
        __syncthreads();
    }
    for (unsigned y = 0; y < EACH; y++)
        for (unsigned x = 0; x < EACH; x += 4)
            store(&c[(row * EACH + y) * n + column * EACH + x], alpha, &sums[y * EACH + x], beta);
}

#define VECTORS(NAME, BOUNDS, K, LAYOUT)                                      \
    extern "C" __global__ void BOUNDS NAME(SHAPE, MATRICES)                    \
    {                                                                          \
        __shared__ float a_tile[128 * K], b_tile[K * LAYOUT::COLUMNS];         \
        vectors<K, LAYOUT>(m, n, k, alpha, a, b, beta, c, a_tile, b_tile);     \
    }

VECTORS(step6, , 8, AsItIs)
VECTORS(step7, , 8, Linear)
VECTORS(step8, , 8, Wider)
VECTORS(step9, __launch_bounds__(256), 16, AsItIs)

// Steps 10 and 11: each warp has a tile of WM x WN, in DOWN x ACROSS parts in which a thread has TM x TN numbers.
template <int M, int N, int WM, int WN, int ACROSS, int TM, int TN, int THREADS>
struct Warps {
    static constexpr int K = 16;
    static constexpr int DOWN = (WM * WN) / (32 * TM * TN * ACROSS);
    static constexpr int PART_M = WM / DOWN, PART_N = WN / ACROSS;

    // What a share of the threads loads.
    static __device__ __forceinline__ void load(int n, int k, float *a, float *b, float *a_tile, float *b_tile)
    {
        unsigned thread = threadIdx.x % THREADS;
        unsigned a_row = thread / (K / 4), a_column = thread % (K / 4);
        unsigned b_row = thread / (N / 4), b_column = thread % (N / 4);
        for (unsigned down = 0; down < M; down += THREADS * 4 / K)
            transpose<M>(a_tile, a_row + down, a_column, four(&a[(a_row + down) * k + a_column * 4]));
        for (unsigned down = 0; down < K; down += THREADS * 4 / N)
            four(&b_tile[(b_row + down) * N + b_column * 4]) = four(&b[(b_row + down) * n + b_column * 4]);
    }

    static __device__ __forceinline__ unsigned warp_row() { return threadIdx.x / 32 / (N / WN) * WM; }
    static __device__ __forceinline__ unsigned warp_column() { return threadIdx.x / 32 % (N / WN) * WN; }
    static __device__ __forceinline__ unsigned lane_row() { return threadIdx.x % 32 / (PART_N / TN) * TM; }
    static __device__ __forceinline__ unsigned lane_column() { return threadIdx.x % 32 % (PART_N / TN) * TN; }

    static __device__ __forceinline__ void add(
        float *sums, float *left, float *right, const float *a_tile, const float *b_tile)
    {
        for (unsigned i = 0; i < K; i++) {
            for (unsigned down = 0; down < DOWN; down++)
                for (unsigned y = 0; y < TM; y++)
                    left[down * TM + y] = a_tile[i * M + warp_row() + down * PART_M + lane_row() + y];
            for (unsigned across = 0; across < ACROSS; across++)
                for (unsigned x = 0; x < TN; x++)
                    right[across * TN + x] = b_tile[i * N + warp_column() + across * PART_N + lane_column() + x];
            for (unsigned down = 0; down < DOWN; down++)
                for (unsigned across = 0; across < ACROSS; across++)
                    for (unsigned y = 0; y < TM; y++)
                        for (unsigned x = 0; x < TN; x++)
                            sums[(down * TM + y) * (ACROSS * TN) + across * TN + x]
                                += left[down * TM + y] * right[across * TN + x];
        }
    }

    static __device__ __forceinline__ void write(float alpha, const float *sums, float beta, float *c, int n)
    {
        c += (blockIdx.y * M + warp_row()) * n + blockIdx.x * N + warp_column();
        for (unsigned down = 0; down < DOWN; down++)
            for (unsigned across = 0; across < ACROSS; across++)
                for (unsigned y = 0; y < TM; y++)
                    for (unsigned x = 0; x < TN; x += 4)
                        store(&c[(down * PART_M + lane_row() + y) * n + across * PART_N + lane_column() + x], alpha,
                            &sums[(down * TM + y) * (ACROSS * TN) + across * TN + x], beta);
    }
};

extern "C" __global__ void __launch_bounds__(128) step10(SHAPE, MATRICES)
{
    constexpr int M = 128, N = 128, TM = 8, TN = 4, ACROSS = 4;
    using Tile = Warps<M, N, 64, 64, ACROSS, TM, TN, 128>;
    constexpr int K = Tile::K, DOWN = Tile::DOWN;
    __shared__ float a_tile[M * K], b_tile[K * N];
    float sums[DOWN * TM * ACROSS * TN] = {}, left[DOWN * TM] = {}, right[ACROSS * TN] = {};
    a += blockIdx.y * M * k;
    b += blockIdx.x * N;
    for (unsigned step = 0; step < k; step += K) {
        Tile::load(n, k, a, b, a_tile, b_tile);
        __syncthreads();
        Tile::add(sums, left, right, a_tile, b_tile);
        a += K;
        b += K * n;
        __syncthreads();
    }
    Tile::write(alpha, sums, beta, c, n);
}

// Two buffers: half of the threads loads one tile while the other half computes on the other.
extern "C" __global__ void __launch_bounds__(256) step11(SHAPE, MATRICES)
{
    constexpr int M = 128, N = 256, TM = 8, TN = 8, ACROSS = 1;
    using Tile = Warps<M, N, 128, 32, ACROSS, TM, TN, 128>;
    constexpr int K = Tile::K, DOWN = Tile::DOWN, A = M * K, B = K * N;
    __shared__ float a_tile[2 * A], b_tile[2 * B];
    float sums[DOWN * TM * ACROSS * TN] = {}, left[DOWN * TM] = {}, right[ACROSS * TN] = {};
    bool is_second = threadIdx.x >= 128;
    a += blockIdx.y * M * k;
    b += blockIdx.x * N;
    if (!is_second)
        Tile::load(n, k, a, b, a_tile, b_tile);
    __syncthreads();
    for (unsigned step = 0; step < k; step += 2 * K) {
        if (!is_second) {
            Tile::add(sums, left, right, a_tile, b_tile);
            __syncthreads();
            if (step + K < k)
                Tile::add(sums, left, right, a_tile + A, b_tile + B);
            __syncthreads();
            if (step + 2 * K < k)
                Tile::load(n, k, a + 2 * K, b + 2 * K * n, a_tile, b_tile);
        } else {
            if (step + K < k)
                Tile::load(n, k, a + K, b + K * n, a_tile + A, b_tile + B);
            __syncthreads();
            Tile::add(sums, left, right, a_tile, b_tile);
            __syncthreads();
            if (step + K < k)
                Tile::add(sums, left, right, a_tile + A, b_tile + B);
        }
        a += 2 * K;
        b += 2 * K * n;
        __syncthreads();
    }
    Tile::write(alpha, sums, beta, c, n);
}
