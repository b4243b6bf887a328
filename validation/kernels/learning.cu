// Layers of neural networks in single precision.

__device__ __forceinline__ float warp_sum(float value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    }
    return value;
}

__device__ __forceinline__ float warp_max(float value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    return value;
}

// All threads of a block of up to 32 warps get the sum (or the largest) of the values of all.
template <bool MAX>
__device__ __forceinline__ float block_fold(float value) {
    __shared__ float of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    value = MAX ? warp_max(value) : warp_sum(value);
    // The values of the fold before may still be read.
    __syncthreads();
    if (lane == 0) {
        of_warp[warp] = value;
    }
    __syncthreads();
    value = of_warp[lane < warps ? lane : 0];
    if (!MAX && lane >= warps) {
        value = 0.0f;
    }
    return MAX ? warp_max(value) : warp_sum(value);
}

// Each row through softmax, a block per row; the row is read three times.
extern "C" __global__ void softmax_rows(const float* in, float* out, int width) {
    const float* row = in + (size_t)blockIdx.x * width;
    float top = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        top = fmaxf(top, row[i]);
    }
    top = block_fold<true>(top);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        sum += expf(row[i] - top);
    }
    float scale = 1.0f / block_fold<false>(sum);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        out[(size_t)blockIdx.x * width + i] = expf(row[i] - top) * scale;
    }
}

// Layer normalisation, a warp per row of 1024 elements that stays in registers.
extern "C" __global__ void layer_norm(const float* in, const float* gain, const float* bias, float* out, int rows) {
    constexpr int WIDTH = 1024, EACH = WIDTH / 128;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    const float4* from = reinterpret_cast<const float4*>(in + (size_t)row * WIDTH);
    float4* to = reinterpret_cast<float4*>(out + (size_t)row * WIDTH);
    float4 own[EACH];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        own[i] = from[32 * i + lane];
        sum += own[i].x + own[i].y + own[i].z + own[i].w;
    }
    float mean = warp_sum(sum) / WIDTH;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        own[i] = make_float4(own[i].x - mean, own[i].y - mean, own[i].z - mean, own[i].w - mean);
        squares += own[i].x * own[i].x + own[i].y * own[i].y + own[i].z * own[i].z + own[i].w * own[i].w;
    }
    float scale = rsqrtf(warp_sum(squares) / WIDTH + 1e-5f);
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        float4 g = reinterpret_cast<const float4*>(gain)[32 * i + lane];
        float4 b = reinterpret_cast<const float4*>(bias)[32 * i + lane];
        to[32 * i + lane] = make_float4(own[i].x * scale * g.x + b.x, own[i].y * scale * g.y + b.y,
                                        own[i].z * scale * g.z + b.z, own[i].w * scale * g.w + b.w);
    }
}

// Attention forward with the softmax that goes along: a thread per query, tiles of 32 keys and values in shared memory.
// Heads have 32 components; the grid is queries / blockDim by heads.
extern "C" __global__ void __launch_bounds__(128)
    attention_forward(const float* queries, const float* keys, const float* values, float* out, int length,
                      float scale) {
    constexpr int SIZE = 32, TILE = 32;
    __shared__ __align__(16) float key[TILE][SIZE];
    __shared__ __align__(16) float value[TILE][SIZE];
    size_t head = (size_t)blockIdx.y * length * SIZE;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float query[SIZE], sum[SIZE] = {}, top = -INFINITY, weight = 0.0f;
#pragma unroll
    for (int i = 0; i < SIZE; i += 4) {
        float4 four = *reinterpret_cast<const float4*>(queries + head + row * SIZE + i);
        query[i] = four.x * scale;
        query[i + 1] = four.y * scale;
        query[i + 2] = four.z * scale;
        query[i + 3] = four.w * scale;
    }
    for (int first = 0; first < length; first += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * SIZE / 4; i += blockDim.x) {
            reinterpret_cast<float4*>(key)[i] = reinterpret_cast<const float4*>(keys + head + first * SIZE)[i];
            reinterpret_cast<float4*>(value)[i] = reinterpret_cast<const float4*>(values + head + first * SIZE)[i];
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            float score = 0.0f;
#pragma unroll
            for (int i = 0; i < SIZE; ++i) {
                score += query[i] * key[k][i];
            }
            // What was added so far is scaled down only where a larger score comes.
            if (score > top) {
                float down = __expf(top - score);
                weight *= down;
#pragma unroll
                for (int i = 0; i < SIZE; ++i) {
                    sum[i] *= down;
                }
                top = score;
            }
            float power = __expf(score - top);
            weight += power;
#pragma unroll
            for (int i = 0; i < SIZE; ++i) {
                sum[i] += power * value[k][i];
            }
        }
    }
    float inverse = 1.0f / weight;
#pragma unroll
    for (int i = 0; i < SIZE; i += 4) {
        *reinterpret_cast<float4*>(out + head + row * SIZE + i) =
            make_float4(sum[i] * inverse, sum[i + 1] * inverse, sum[i + 2] * inverse, sum[i + 3] * inverse);
    }
}

// A convolutional layer: 3 x 3 filters over `channels` planes with a margin of one pixel, 8 output planes per block in
// the registers of its threads, filters in shared memory.
extern "C" __global__ void convolution_layer(const float* in, const float* filters, float* out, int channels,
                                             int width, int height) {
    constexpr int PLANES = 8;
    extern __shared__ float filter[];
    int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    int first = blockIdx.z * PLANES;
    for (int i = thread; i < PLANES * channels * 9; i += threads) {
        filter[i] = filters[first * channels * 9 + i];
    }
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, row = width + 2;
    float sum[PLANES] = {};
    for (int channel = 0; channel < channels; ++channel) {
        const float* plane = in + channel * row * (height + 2) + y * row + x;
#pragma unroll
        for (int tap = 0; tap < 9; ++tap) {
            float pixel = plane[tap / 3 * row + tap % 3];
#pragma unroll
            for (int p = 0; p < PLANES; ++p) {
                sum[p] += pixel * filter[(p * channels + channel) * 9 + tap];
            }
        }
    }
#pragma unroll
    for (int p = 0; p < PLANES; ++p) {
        out[((first + p) * height + y) * width + x] = sum[p];
    }
}

// Adds a bias per column and applies the Gaussian error linear unit in its form with tanh, four elements per thread.
extern "C" __global__ void bias_gelu(float4* data, const float4* bias, int columns_4, int count_4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count_4) {
        return;
    }
    float4 four = data[i], added = bias[i % columns_4];
    float value[4] = {four.x + added.x, four.y + added.y, four.z + added.z, four.w + added.w};
#pragma unroll
    for (float& v : value) {
        v = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
    }
    data[i] = make_float4(value[0], value[1], value[2], value[3]);
}

// Rows of an embedding table by token, a warp per row of 256 elements.
extern "C" __global__ void embedding_rows(const float4* table, const int* tokens, float4* out, int count) {
    constexpr int ROW = 64;
    int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (token >= count) {
        return;
    }
    const float4* row = table + (size_t)tokens[token] * ROW;
    out[(size_t)token * ROW + lane] = row[lane];
    out[(size_t)token * ROW + lane + 32] = row[lane + 32];
}
