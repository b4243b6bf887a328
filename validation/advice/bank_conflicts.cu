// A transpose by way of a tile whose columns lie in one bank. Repaired: rows of the tile are padded by a word.
template <int Width>
__device__ void transpose(float (*tile)[Width], const float* __restrict__ in, float* __restrict__ out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];  // here
}

extern "C" __global__ void mistake(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[32][32];
    transpose(tile, in, out, n);
}

extern "C" __global__ void repaired(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[32][33];
    transpose(tile, in, out, n);
}
