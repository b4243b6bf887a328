// Bulk copies and tensor maps by way of `cuda::ptx` and `cuda::barrier`.

#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// y = a x + y on tiles that come and go in bulk, two at a time.
extern "C" __global__ void __launch_bounds__(128) bulk_axpy(float a, const float *x, float *y, int tiles)
{
    constexpr int TILE = 1024;
    __shared__ __align__(128) float tile_x[2][TILE], tile_y[2][TILE];
    __shared__ barrier full[2];
    if (threadIdx.x == 0) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    auto fetch = [&](int tile) {
        barrier &bar = full[tile % 2];
        const int at = (blockIdx.x * tiles + tile) * TILE;
        if (threadIdx.x == 0) {
            cuda::memcpy_async(tile_x[tile % 2], x + at, cuda::aligned_size_t<16>(sizeof(tile_x[0])), bar);
            cuda::memcpy_async(tile_y[tile % 2], y + at, cuda::aligned_size_t<16>(sizeof(tile_y[0])), bar);
        }
        return bar.arrive();
    };
    barrier::arrival_token token = fetch(0);
    for (int tile = 0; tile < tiles; ++tile) {
        full[tile % 2].wait(std::move(token));
        // What was written from the other half has to be read before it is fetched over.
        if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        __syncthreads();
        if (tile + 1 < tiles) token = fetch(tile + 1);
        for (int i = threadIdx.x; i < TILE; i += blockDim.x) tile_y[tile % 2][i] += a * tile_x[tile % 2][i];
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + (blockIdx.x * tiles + tile) * TILE,
                               tile_y[tile % 2], sizeof(tile_y[0]));
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// Histograms of blocks, added to one in memory by a bulk reduction.
extern "C" __global__ void __launch_bounds__(256) bulk_histogram(const unsigned char *in, unsigned *bins, int per_block)
{
    __shared__ __align__(16) unsigned counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < per_block; i += blockDim.x) atomicAdd(&counts[in[blockIdx.x * per_block + i]], 1u);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, bins, counts, sizeof(counts));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// A transposed matrix: boxes of 32 x 32 come and go by tensor maps.
extern "C" __global__ void __launch_bounds__(256) tensor_transpose(const __grid_constant__ CUtensorMap in,
    const __grid_constant__ CUtensorMap out)
{
    __shared__ __align__(128) float from[32][32], to[32][32];
    __shared__ barrier full;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    if (threadIdx.x == 0) {
        const int corner[2] = {x, y};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, from, &in, corner,
                                  cuda::device::barrier_native_handle(full));
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof(from));
    } else {
        token = full.arrive();
    }
    full.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += 256) to[i % 32][i / 32] = from[i / 32][i % 32];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        const int corner[2] = {y, x};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, corner, to);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// Seven points in three dimensions; what a box has outside of the grid is filled with zeros.
extern "C" __global__ void __launch_bounds__(256) tensor_stencil(const __grid_constant__ CUtensorMap in, float *out,
    int nx, int ny, int nz)
{
    __shared__ __align__(128) float box[6][10][20];
    __shared__ barrier full;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    const int x = blockIdx.x * 16, y = blockIdx.y * 8, z = blockIdx.z * 4;
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        const int corner[3] = {x - 1, y - 1, z - 1};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &in, corner,
                                  cuda::device::barrier_native_handle(full));
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof(box));
    } else {
        token = full.arrive();
    }
    full.wait(std::move(token));
    for (int i = threadIdx.x; i < 512; i += 256) {
        const int dx = i % 16, dy = i / 16 % 8, dz = i / 128;
        const float sum = box[dz + 1][dy + 1][dx] + box[dz + 1][dy + 1][dx + 2] + box[dz + 1][dy][dx + 1] +
                          box[dz + 1][dy + 2][dx + 1] + box[dz][dy + 1][dx + 1] + box[dz + 2][dy + 1][dx + 1];
        if (x + dx < nx && y + dy < ny && z + dz < nz)
            out[((z + dz) * ny + y + dy) * nx + x + dx] = sum - 6 * box[dz + 1][dy + 1][dx + 1];
    }
}
