// Inclusive prefix sums: within warps by shuffles, across the four warps of the block through shared memory.
extern "C" __global__ void warp_scan(const int* in, int* out) {
    __shared__ int of_warp[4];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int v = in[t];
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += below;
    }
    if (lane == 31) of_warp[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; ++w) v += of_warp[w];
    out[t] = v;
}
