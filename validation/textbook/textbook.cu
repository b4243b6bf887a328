// Kernels from textbooks: products and sums of matrices, dot product, sum of vectors, greatest sum of neighbours. Launches,
// tile sizes and algorithms are those of the measured kernels (marcosamaris/gpuperfpredict); the code is our own.
//
// `regenerate.py` makes sm_35.ptx of it.

// Products of square matrices, a number of the result per thread. Where a kernel is called uncoalesced, neighbouring
// threads have numbers of neighbouring rows instead of neighbouring columns.
__device__ __forceinline__ void product(float *c, const float *a, const float *b, int n, int row, int column)
{
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void product_global(float *c, float *a, float *b, int n, int tile)
{
    product(c, a, b, n, blockIdx.y * tile + threadIdx.y, blockIdx.x * tile + threadIdx.x);
}

extern "C" __global__ void product_global_uncoalesced(float *c, float *a, float *b, int n, int tile)
{
    product(c, a, b, n, blockIdx.x * tile + threadIdx.x, blockIdx.y * tile + threadIdx.y);
}

// Tiles of both operands in shared memory.
template <int TILE>
__device__ __forceinline__ void tiled(
    float *c, const float *a, const float *b, int n, int y, int x, int down, int across)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = down * TILE + y, column = across * TILE + x;
    float sum = 0;
    for (int tile = 0; tile < n / TILE; tile++) {
        left[y][x] = a[row * n + tile * TILE + x];
        right[y][x] = b[(tile * TILE + y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

#define TILED(TILE)                                                                                  \
    extern "C" __global__ void product_shared##TILE(float *c, float *a, float *b, int n)             \
    {                                                                                                \
        tiled<TILE>(c, a, b, n, threadIdx.y, threadIdx.x, blockIdx.y, blockIdx.x);                   \
    }                                                                                                \
    extern "C" __global__ void product_shared_uncoalesced##TILE(float *c, float *a, float *b, int n) \
    {                                                                                                \
        tiled<TILE>(c, a, b, n, threadIdx.x, threadIdx.y, blockIdx.x, blockIdx.y);                   \
    }

TILED(4)
TILED(8)
TILED(12)
TILED(16)
TILED(20)
TILED(24)
TILED(28)
TILED(32)

// Sums of square matrices.
__device__ __forceinline__ void sum(float *s, const float *a, const float *b, int n, int row, int column)
{
    int i = row * n + column;
    if (i < n * n)
        s[i] = a[i] + b[i];
}

extern "C" __global__ void sum_coalesced(float *s, float *a, float *b, int n)
{
    sum(s, a, b, n, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x);
}

extern "C" __global__ void sum_uncoalesced(float *s, float *a, float *b, int n)
{
    sum(s, a, b, n, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
}

// A dot product: the products of a CTA are summed up in a tree, and its sum is one of the result.
template <int THREADS>
__device__ __forceinline__ void dot(const float *a, const float *b, float *sums, int n)
{
    __shared__ float cache[THREADS];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += a[i] * b[i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half != 0; half /= 2) {
        if ((int)threadIdx.x < half)
            cache[threadIdx.x] += cache[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = cache[0];
}

#define DOT(THREADS)                                                                 \
    extern "C" __global__ void dot##THREADS(float *a, float *b, float *sums, int n)  \
    {                                                                                \
        dot<THREADS>(a, b, sums, n);                                                 \
    }

DOT(64)
DOT(256)
DOT(1024)

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

// The greatest sum of neighbours. A CTA of 128 threads goes through its `each` numbers in parts of 4096, of which a thread
// looks at 33 one after the other; it leaves five numbers: what of its last part lies before and after the greatest sum,
// each as the greatest sum at that end and the rest, and the greatest sum itself.
extern "C" __global__ void greatest_sum(int *numbers, int *results, int each_of_thread, int each)
{
    // One more than a part, as each thread looks at the first number of the next.
    __shared__ int part[4096 + 2];
    int best_start, best_end, start, end, best = 0, sum = 0;
    int first = threadIdx.x * 32;
    for (int pass = 0; pass < each / 4096; pass++) {
        int of_thread = each / blockDim.x;
        int from = blockIdx.x * each + threadIdx.x / 32 * of_thread + threadIdx.x % 32 + pass * 32;
        int to = threadIdx.x;
        for (int i = 0; i < 4096; i += blockDim.x) {
            part[to] = numbers[from];
            to += blockDim.x;
            from += of_thread * 4;
        }
        __syncthreads();
        if (threadIdx.x < 128) {
            best_start = best_end = start = end = first - 1;
            for (int i = first - 1; i < first + 32; i++) {
                int next = part[i + 1];
                if (i == best_end) {
                    end++;
                    sum += next;
                    if (sum < 0) {
                        sum = 0;
                        end = -1;
                    }
                    start = end == 0 ? 0 : start;
                    if (next > 0) {
                        best_end++;
                        best += next;
                        best_start = best_end == 0 ? 0 : best_start;
                    }
                } else if (sum + next > best) {
                    end++;
                    if (best_start == -1)
                        end = start = i + 1;
                    sum += next;
                    best_start = start;
                    best_end = end;
                    best = sum;
                } else if (sum + next > 0) {
                    end++;
                    if (sum == 0)
                        start = end = i + 1;
                    sum += next;
                } else {
                    start = end = i + 2;
                    sum = 0;
                }
            }
        }
    }
    if (threadIdx.x < 128) {
        int *result = &results[(blockIdx.x * blockDim.x + threadIdx.x) * 5];
        result[0] = result[1] = result[2] = result[3] = result[4] = -1;
        result[2] = best;
        if (best_start > first - 1) {
            int before = 0, most = 0;
            for (int i = 0; i < best_start; i++) {
                before += part[i];
                most = before > most ? before : most;
            }
            result[0] = most;
            result[1] = before - most;
        }
        if (best_end < first + 32) {
            int after = 0, most = 0;
            for (int i = first + 31; i > best_end; i--) {
                after += part[i];
                most = after > most ? after : most;
            }
            result[3] = most;
            result[4] = most == 0 ? 0 : after - most;
        }
    }
}
