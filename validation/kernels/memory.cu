// Ways to memory: streams, transposes, gathering and scattering, chains of loads, atomic operations.

// y = alpha * x + y, four elements per thread.
extern "C" __global__ void axpy_vectors(const float4* x, float4* y, float alpha, int count_4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count_4) {
        float4 a = x[i], b = y[i];
        y[i] = make_float4(alpha * a.x + b.x, alpha * a.y + b.y, alpha * a.z + b.z, alpha * a.w + b.w);
    }
}

// The triad of streaming benchmarks in double precision, as many elements per thread as there are.
extern "C" __global__ void triad(const double* b, const double* c, double* a, double scale, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        a[i] = b[i] + scale * c[i];
    }
}

// Reads one word in `stride`, so that lines are used in part.
extern "C" __global__ void copy_strided(const float* in, float* out, int count, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = in[(size_t)i * stride];
    }
}

// Transposes of matrices by blocks of 32 x 8 threads, four elements per thread: straight, through a tile in shared
// memory whose columns lie in one bank, and through one with a word of padding per row.
extern "C" __global__ void transpose_direct(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        out[x * height + y + i] = in[(y + i) * width + x];
    }
}

template <int PAD>
__device__ __forceinline__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][32 + PAD];
    int left = blockIdx.x * 32, top = blockIdx.y * 32, tx = threadIdx.x, ty = threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        tile[ty + i][tx] = in[(top + ty + i) * width + left + tx];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        out[(left + ty + i) * height + top + tx] = tile[tx][ty + i];
    }
}

extern "C" __global__ void transpose_conflicts(const float* in, float* out, int width, int height) {
    transpose<0>(in, out, width, height);
}

extern "C" __global__ void transpose_padded(const float* in, float* out, int width, int height) {
    transpose<1>(in, out, width, height);
}

extern "C" __global__ void gather_words(const float* in, const int* index, float* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = in[index[i]];
    }
}

// Scatters words to places that no two of them share: the numbers below a power of two, multiplied by an odd one.
extern "C" __global__ void scatter_words(const float* in, float* out, unsigned factor, unsigned mask) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i * factor & mask] = in[i];
}

// Chains of dependent loads: where to look next depends on what was found and on the step.
extern "C" __global__ void load_chain(const unsigned* table, unsigned* end, unsigned mask, int steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i * 2654435769u & mask;
    for (int step = 0; step < steps; ++step) {
        at = (table[at] + step) & mask;
    }
    end[i] = at;
}

// Atomic sums of words into drawn counters, of which there may be few or many.
extern "C" __global__ void atomic_counters(const int* index, const unsigned* values, unsigned* counters, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        atomicAdd(&counters[index[i]], values[i]);
    }
}

// The largest word of all, by warps and one atomic operation per warp.
extern "C" __global__ void atomic_largest(const unsigned* values, unsigned* largest, int count) {
    unsigned best = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        best = max(best, values[i]);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        best = max(best, __shfl_xor_sync(0xffffffffu, best, distance));
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax(largest, best);
    }
}
