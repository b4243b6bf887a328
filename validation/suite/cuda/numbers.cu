// Numbers of fewer and of more bits than a float.

#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// The smooth gate of neural networks on pairs of halves, x / (1 + exp(-1.702 x)).
extern "C" __global__ void __launch_bounds__(256) half_gate(const half2 *in, half2 *out, int pairs)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        const half2 x = in[i], one = __float2half2_rn(1.0f);
        out[i] = __h2div(x, __hadd2(one, h2exp(__hmul2(x, __float2half2_rn(-1.702f)))));
    }
}

// Rows normalised to mean 0 and variance 1 in bfloat16, with sums in floats: one warp per row.
extern "C" __global__ void __launch_bounds__(128) bfloat_norm(const __nv_bfloat16 *in, const __nv_bfloat16 *scale,
    __nv_bfloat16 *out, int rows, int width)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const __nv_bfloat162 *from = reinterpret_cast<const __nv_bfloat162 *>(in + row * width);
    float sum = 0, squares = 0;
    for (int i = lane; i < width / 2; i += 32) {
        const float2 pair = __bfloat1622float2(from[i]);
        sum += pair.x + pair.y;
        squares += pair.x * pair.x + pair.y * pair.y;
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        squares += __shfl_xor_sync(~0u, squares, step);
    }
    const float mean = sum / width, factor = rsqrtf(squares / width - mean * mean + 1e-5f);
    for (int i = lane; i < width; i += 32)
        out[row * width + i] = __float2bfloat16((__bfloat162float(in[row * width + i]) - mean) * factor *
            __bfloat162float(scale[i]));
}

// Each row in 8 bits, scaled by its greatest magnitude, and back.
extern "C" __global__ void __launch_bounds__(128) fp8_rows(const float *in, unsigned char *bytes, float *scales,
    half *back, int width)
{
    __shared__ float tops[4];
    const float *row = in + blockIdx.x * width;
    float top = 0;
    for (int i = threadIdx.x; i < width; i += 128) top = fmaxf(top, fabsf(row[i]));
    for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
    __syncthreads();
    top = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
    if (threadIdx.x == 0) scales[blockIdx.x] = top;
    for (int i = threadIdx.x * 2; i < width; i += 256) {
        const float2 pair = make_float2(row[i] * (256 / top), row[i + 1] * (256 / top));
        const __nv_fp8x2_e4m3 small(pair);
        reinterpret_cast<__nv_fp8x2_e4m3 *>(bytes)[(blockIdx.x * width + i) / 2] = small;
        reinterpret_cast<half2 *>(back)[(blockIdx.x * width + i) / 2] = static_cast<half2>(small);
    }
}

// Points of Mandelbrot's set in complex doubles.
extern "C" __global__ void complex_escape(int *out, int n, double left, double top, double step, int limit)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const cuDoubleComplex c = make_cuDoubleComplex(left + x * step, top + y * step);
    cuDoubleComplex z = make_cuDoubleComplex(0, 0);
    int count = 0;
    while (count < limit && z.x * z.x + z.y * z.y < 4) {
        z = cuCadd(cuCmul(z, z), c);
        ++count;
    }
    out[y * n + x] = count;
}

// Powers modulo a prime of 61 bits, with products of 128 bits.
extern "C" __global__ void __launch_bounds__(128) wide_powers(const unsigned long long *in, unsigned long long *out,
    unsigned long long power)
{
    const unsigned long long prime = (1ull << 61) - 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long base = in[i] % prime, result = 1;
    for (unsigned long long left = power; left > 0; left >>= 1) {
        if (left & 1) result = static_cast<unsigned __int128>(result) * base % prime;
        base = static_cast<unsigned __int128>(base) * base % prime;
    }
    out[i] = result;
}

// Products of bytes by `dp4a` and `dp2a`, and bytes put together by `prmt`: a filter on packed pixels.
extern "C" __global__ void __launch_bounds__(256) byte_filter(const unsigned *in, int *out, int words)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words) return;
    const unsigned here = in[i], next = in[(i + 1) % words];
    int sum = 0;
    for (int shift = 0; shift < 4; ++shift) {
        const unsigned window = __byte_perm(here, next, 0x3210 + 0x1111 * shift);
        sum = __dp4a(static_cast<int>(window), static_cast<int>(0x01fe03ff), sum);
        sum = __dp2a_lo(static_cast<int>(window), static_cast<int>(0x01fe03ff), sum);
    }
    out[i] = sum + __vsadu4(here, next) + __vabsdiffu4(here, next);
}
