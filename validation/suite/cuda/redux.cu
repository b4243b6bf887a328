// Reductions of a warp in one instruction (sm_80): sum, least, greatest and the bits of each 32 words, one CTA per row.
extern "C" __global__ void __launch_bounds__(128) redux_rows(const int *in, int *out, int width)
{
    __shared__ int parts[5][4];
    int sum = 0, least = 0x7fffffff, greatest = 0x80000000;
    unsigned any = 0, odd = 0;
    for (int i = threadIdx.x; i < width; i += 128) {
        const int value = in[blockIdx.x * width + i];
        sum += __reduce_add_sync(~0u, value);
        least = min(least, __reduce_min_sync(~0u, value));
        greatest = max(greatest, __reduce_max_sync(~0u, value));
        any |= __reduce_or_sync(~0u, static_cast<unsigned>(value));
        odd ^= __reduce_xor_sync(~0u, static_cast<unsigned>(value));
    }
    if (threadIdx.x % 32 == 0) {
        const int warp = threadIdx.x / 32;
        parts[0][warp] = sum, parts[1][warp] = least, parts[2][warp] = greatest, parts[3][warp] = any,
            parts[4][warp] = odd;
    }
    __syncthreads();
    if (threadIdx.x < 5) {
        int *part = parts[threadIdx.x], result = part[0];
        for (int i = 1; i < 4; ++i)
            switch (threadIdx.x) {
            case 0: result += part[i]; break;
            case 1: result = min(result, part[i]); break;
            case 2: result = max(result, part[i]); break;
            case 3: result |= part[i]; break;
            default: result ^= part[i];
            }
        out[blockIdx.x * 5 + threadIdx.x] = result;
    }
}
