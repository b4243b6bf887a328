// A product of square matrices with tiles in shared memory, for a tuner: each thread computes WORK_X * WORK_Y elements.
#ifndef TILE
#define TILE 16
#endif

extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    constexpr int wide = block_size_x * WORK_X, tall = block_size_y * WORK_Y;
    __shared__ float left[tall][TILE];
    __shared__ float right[TILE][wide];
    int row = blockIdx.y * tall, column = blockIdx.x * wide;
    int thread = threadIdx.y * block_size_x + threadIdx.x;
    float sums[WORK_Y][WORK_X] = {};
    for (int first = 0; first < n; first += TILE) {
        for (int i = thread; i < tall * TILE; i += block_size_x * block_size_y) {
            left[i / TILE][i % TILE] = a[(row + i / TILE) * n + first + i % TILE];
        }
        for (int i = thread; i < TILE * wide; i += block_size_x * block_size_y) {
            right[i / wide][i % wide] = b[(first + i / wide) * n + column + i % wide];
        }
        __syncthreads();
#if UNROLL
#pragma unroll
#else
#pragma unroll 1
#endif
        for (int k = 0; k < TILE; ++k) {
            for (int y = 0; y < WORK_Y; ++y) {
                for (int x = 0; x < WORK_X; ++x) {
                    sums[y][x] += left[threadIdx.y + y * block_size_y][k] * right[k][threadIdx.x + x * block_size_x];
                }
            }
        }
        __syncthreads();
    }
    for (int y = 0; y < WORK_Y; ++y) {
        for (int x = 0; x < WORK_X; ++x) {
            c[(row + threadIdx.y + y * block_size_y) * n + column + threadIdx.x + x * block_size_x] = sums[y][x];
        }
    }
}
