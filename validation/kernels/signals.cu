// Filters and transforms of pictures and signals in single precision.

// A filter of (2 * reach + 1)^2 taps straight from global memory; the picture has a margin of `reach` pixels.
extern "C" __global__ void filter_direct(const float* in, const float* taps, float* out, int width, int height,
                                         int reach) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    int row = width + 2 * reach, taps_row = 2 * reach + 1;
    float sum = 0.0f;
    for (int dy = 0; dy < taps_row; ++dy) {
        for (int dx = 0; dx < taps_row; ++dx) {
            sum += in[(y + dy) * row + x + dx] * taps[dy * taps_row + dx];
        }
    }
    out[y * width + x] = sum;
}

// The two passes of a separable filter of 17 taps, through shared memory. Beyond the rim pixels are zero.
constexpr int REACH = 8;

extern "C" __global__ void filter_rows(const float* in, const float* taps, float* out, int width) {
    constexpr int THREADS = 128;
    __shared__ float line[THREADS + 2 * REACH];
    int first = blockIdx.x * THREADS, thread = threadIdx.x;
    const float* row = in + (size_t)blockIdx.y * width;
    for (int i = thread; i < THREADS + 2 * REACH; i += THREADS) {
        int x = first + i - REACH;
        line[i] = x >= 0 && x < width ? row[x] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i <= 2 * REACH; ++i) {
        sum += line[thread + i] * taps[i];
    }
    out[(size_t)blockIdx.y * width + first + thread] = sum;
}

extern "C" __global__ void filter_columns(const float* in, const float* taps, float* out, int width, int height) {
    constexpr int WIDE = 32, HIGH = 64;
    __shared__ float part[HIGH + 2 * REACH][WIDE];
    int x = blockIdx.x * WIDE + threadIdx.x, first = blockIdx.y * HIGH;
    for (int i = threadIdx.y; i < HIGH + 2 * REACH; i += blockDim.y) {
        int y = first + i - REACH;
        part[i][threadIdx.x] = y >= 0 && y < height ? in[(size_t)y * width + x] : 0.0f;
    }
    __syncthreads();
    for (int y = threadIdx.y; y < HIGH; y += blockDim.y) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i <= 2 * REACH; ++i) {
            sum += part[y + i][threadIdx.x] * taps[i];
        }
        out[(size_t)(first + y) * width + x] = sum;
    }
}

// The median of the 3 x 3 pixels around each: of the sorted rows, the largest least, the middle middle and the least
// largest; the median of these three. The picture has a margin of one pixel.
__device__ __forceinline__ float middle(float a, float b, float c) {
    return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

extern "C" __global__ void median_nine(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float low[3], mid[3], high[3];
#pragma unroll
    for (int r = 0; r < 3; ++r) {
        const float* row = in + (y + r) * (width + 2) + x;
        float a = row[0], b = row[1], c = row[2];
        low[r] = fminf(a, fminf(b, c));
        mid[r] = middle(a, b, c);
        high[r] = fmaxf(a, fmaxf(b, c));
    }
    out[y * width + x] = middle(fmaxf(low[0], fmaxf(low[1], low[2])), middle(mid[0], mid[1], mid[2]),
                                fminf(high[0], fminf(high[1], high[2])));
}

// Fourier transforms of 1024 complex points, radix 4, a block of 256 threads per transform: five passes through shared
// memory (Stockham's order, which needs no reversal of digits).
__device__ __forceinline__ float2 times(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__device__ __forceinline__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }

__device__ __forceinline__ float2 minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

extern "C" __global__ void __launch_bounds__(256) fft_1024(const float2* in, float2* out) {
    constexpr int POINTS = 1024, QUARTER = POINTS / 4;
    __shared__ float2 own[POINTS];
    int thread = threadIdx.x;
    size_t first = (size_t)blockIdx.x * POINTS;
    float2 v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        v[i] = in[first + thread + QUARTER * i];
    }
    for (int done = 1; done < POINTS; done *= 4) {
        int k = thread % done;
        // Twiddle factors of the four parts: powers of exp(-2 pi i k / (4 done)).
        float sine, cosine;
        sincospif(-0.5f * k / done, &sine, &cosine);
        float2 w1 = make_float2(cosine, sine), w2 = times(w1, w1), w3 = times(w2, w1);
        float2 b = times(v[1], w1), c = times(v[2], w2), d = times(v[3], w3);
        float2 even = plus(v[0], c), odd = minus(v[0], c), sum = plus(b, d), apart = minus(b, d);
        float2 turned = make_float2(apart.y, -apart.x);
        int to = (thread - k) * 4 + k;
        __syncthreads();
        own[to] = plus(even, sum);
        own[to + done] = plus(odd, turned);
        own[to + 2 * done] = minus(even, sum);
        own[to + 3 * done] = minus(odd, turned);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            v[i] = own[thread + QUARTER * i];
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        out[first + thread + QUARTER * i] = v[i];
    }
}
