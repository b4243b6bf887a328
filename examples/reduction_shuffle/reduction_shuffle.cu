// partial[block] = sum of the elements that the block visits in a grid-stride loop.
//
// Three levels: each thread adds its own elements, each warp folds 32 sums into one with shuffles, and the first warp
// folds the sums of the warps, which pass through shared memory. The order of additions is fixed, so the result is the
// same in every run. The block has a multiple of 32 threads, at most 512.

constexpr int WARP = 32;
constexpr int MAX_WARPS = 16;

__device__ float warp_sum(float value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, distance);
    }
    return value;
}

extern "C" __global__ void reduction_shuffle(const float* in, float* partial, int n) {
    __shared__ float of_warp[MAX_WARPS];

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }

    int lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP;
    sum = warp_sum(sum);
    if (lane == 0) {
        of_warp[warp] = sum;
    }
    __syncthreads();

    if (warp == 0) {
        sum = lane < blockDim.x / WARP ? of_warp[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0) {
            partial[blockIdx.x] = sum;
        }
    }
}
