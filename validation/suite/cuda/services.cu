// What a kernel asks of the device around it: output, a heap, checks, atomics of every kind, calls.

#include <cassert>
#include <cstdio>
#include <cuda/atomic>
#include <cuda_fp16.h>

// Threads that find a square number tell so; the order is theirs, so one thread of a block does all the telling.
extern "C" __global__ void print_squares(const int *in, int per_block)
{
    if (threadIdx.x != 0 || blockIdx.x != gridDim.x - 1) return;
    for (int i = 0; i < per_block; ++i) {
        const int value = in[i];
        const double root = sqrt(static_cast<double>(value));
        if (root == floor(root)) printf("%d: %5d is %g squared (%s, %c, %#x, %lld, %8.3f%%)\n", i, value, root,
            "exact", 'y', value, 1ll << 40 | i, root / 7);
    }
}

struct Node {
    int key;
    Node *next;
};

// Each thread builds a list of its keys in order on the heap, adds it up with weights and gives it back.
extern "C" __global__ void __launch_bounds__(64) heap_lists(const int *keys, long long *out, int per_thread)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    Node *first = nullptr;
    for (int i = 0; i < per_thread; ++i) {
        Node *node = static_cast<Node *>(malloc(sizeof(Node)));
        assert(node != nullptr);
        node->key = keys[thread * per_thread + i];
        Node **at = &first;
        while (*at != nullptr && (*at)->key < node->key) at = &(*at)->next;
        node->next = *at;
        *at = node;
    }
    long long sum = 0;
    int rank = 1;
    while (first != nullptr) {
        sum += static_cast<long long>(rank++) * first->key;
        Node *next = first->next;
        free(first);
        first = next;
    }
    out[thread] = sum;
}

// Atomics on every type that has them.
extern "C" __global__ void __launch_bounds__(256) atomic_kinds(const float *in, int n, float *sums, double *precise,
    half2 *pairs, unsigned long long *wide, int *least, unsigned *ring)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float value = in[i];
        atomicAdd(&sums[i % 64], value);
        atomicAdd(&precise[i % 32], static_cast<double>(value));
        atomicAdd(&pairs[i % 512], __floats2half2_rn(value, -value));
        atomicMax(&wide[i % 16], static_cast<unsigned long long>(i) << 32 | __float_as_uint(fabsf(value)));
        atomicMin(&least[i % 8], static_cast<int>(value * 64));
        atomicInc(ring, 1000);
        atomicXor(&ring[1], i * 2654435761u);
        atomicExch(&ring[2 + i % 4], i % 4);
    }
}

// The least double and its place, by compare and swap; and counters with scopes by way of `cuda::atomic_ref`.
extern "C" __global__ void __launch_bounds__(128) atomic_least(const double *in, int n, unsigned long long *best,
    int *counters)
{
    __shared__ int local;
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> in_block(local);
    cuda::atomic_ref<int, cuda::thread_scope_device> in_grid(counters[0]);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long seen = *best;
        while (in[i] < __longlong_as_double(seen)) {
            const unsigned long long before = atomicCAS(best, seen, __double_as_longlong(in[i]));
            if (before == seen) break;
            seen = before;
        }
        if (in[i] < 0) in_block.fetch_add(1, cuda::memory_order_relaxed);
        in_grid.fetch_max(i % 1013, cuda::memory_order_acq_rel);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd_system(&counters[1], local);
}

// Scans of blocks that look back at what earlier ones have told, in one pass: `state` holds a flag and a sum.
extern "C" __global__ void __launch_bounds__(256) scan_one_pass(const unsigned *in, unsigned *out,
    unsigned long long *state, unsigned *ticket)
{
    __shared__ unsigned sums[8], tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = tile * 256 + threadIdx.x;
    unsigned sum = in[i];
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    unsigned total = 0, offset = 0;
    for (int w = 0; w < 8; ++w) {
        if (w < warp) offset += sums[w];
        total += sums[w];
    }
    if (threadIdx.x == 0) {
        constexpr unsigned long long PART = 1ull << 32, WHOLE = 2ull << 32;
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> mine(state[tile]);
        unsigned prefix = 0;
        if (tile > 0) {
            mine.store(PART | total, cuda::memory_order_release);
            for (int look = tile - 1; look >= 0;) {
                cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> theirs(state[look]);
                const unsigned long long told = theirs.load(cuda::memory_order_acquire);
                if (told < PART) continue;
                prefix += static_cast<unsigned>(told);
                if (told >= WHOLE) break;
                --look;
            }
        }
        mine.store(WHOLE | (prefix + total), cuda::memory_order_release);
        before = prefix;
    }
    __syncthreads();
    out[i] = before + offset + sum;
}

struct Shape {
    float size;
    __device__ explicit Shape(float size) : size(size) {}
    virtual __device__ float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    using Shape::Shape;
    __device__ float area() const override { return size * size; }
};
struct Disc : Shape {
    using Shape::Shape;
    __device__ float area() const override { return 3.0f * size * size; }
};
struct Cross : Shape {
    using Shape::Shape;
    __device__ float area() const override { return 5.0f * size * size - size; }
};

// Objects on the heap with virtual functions.
extern "C" __global__ void virtual_areas(const int *kinds, const float *sizes, float *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Shape *shape;
    switch (kinds[i] % 3) {
    case 0: shape = new Square(sizes[i]); break;
    case 1: shape = new Disc(sizes[i]); break;
    default: shape = new Cross(sizes[i]);
    }
    out[i] = shape->area();
    delete shape;
}

__device__ __noinline__ void sort_range(int *values, int low, int high)
{
    while (low < high) {
        const int pivot = values[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot) ++i;
            while (values[j] > pivot) --j;
            if (i <= j) {
                const int kept = values[i];
                values[i++] = values[j];
                values[j--] = kept;
            }
        }
        sort_range(values, low, j);
        low = i;
    }
}

// Quicksort by recursion: each thread has an array of its own.
extern "C" __global__ void __launch_bounds__(64) recursive_sort(int *values, int per_thread)
{
    sort_range(values, (blockIdx.x * blockDim.x + threadIdx.x) * per_thread,
        (blockIdx.x * blockDim.x + threadIdx.x + 1) * per_thread - 1);
}

__constant__ float taps[17];
__device__ int overflows;
__device__ float history[2][64];

// A filter with its taps in constant memory, variables of the module for what happened.
extern "C" __global__ void __launch_bounds__(256) constant_filter(const float *in, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int tap = -8; tap <= 8; ++tap) sum += taps[tap + 8] * in[min(max(i + tap, 0), n - 1)];
    out[i] = sum;
    if (sum > 1) atomicAdd(&overflows, 1);
    if (i < 64) history[i % 2][i / 2] = sum;
}
