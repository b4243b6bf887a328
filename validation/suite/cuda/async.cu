// Copies to shared memory that run beside the threads, by the classes of libcu++ and cooperative groups.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// Each block sums rows of 1024 words, which a pipeline of three stages brings in pieces of 256.
extern "C" __global__ void __launch_bounds__(128) pipeline_sums(const unsigned *in, unsigned *out, int rows_per_block)
{
    constexpr int STAGES = 3, PIECE = 256;
    __shared__ __align__(16) unsigned stages[STAGES][PIECE];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const int pieces = rows_per_block * 4;
    const unsigned *from = in + blockIdx.x * pieces * PIECE;
    unsigned sum = 0;
    for (int piece = 0, fetched = 0; piece < pieces; ++piece) {
        for (; fetched < pieces && fetched < piece + STAGES; ++fetched) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stages[fetched % STAGES], from + fetched * PIECE,
                               cuda::aligned_size_t<16>(PIECE * sizeof(unsigned)), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        for (int i = threadIdx.x; i < PIECE; i += blockDim.x) sum += stages[piece % STAGES][i] * (i + 1);
        pipeline.consumer_release();
        if (piece % 4 == 3) {
            atomicAdd(&out[blockIdx.x * rows_per_block + piece / 4], sum);
            sum = 0;
        }
    }
}

// Half of the warps fetch, the others use: a pipeline with roles.
extern "C" __global__ void __launch_bounds__(256) pipeline_roles(const float *in, float *out, int tiles)
{
    constexpr int STAGES = 2, TILE = 512;
    __shared__ __align__(16) float stages[STAGES][TILE];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    const bool fetches = threadIdx.x < 128;
    auto role = fetches ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipeline = cuda::make_pipeline(block, &state, role);
    for (int tile = 0; tile < tiles; ++tile) {
        const int at = (blockIdx.x * tiles + tile) * TILE;
        if (fetches) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&stages[tile % STAGES][threadIdx.x * 4], &in[at + threadIdx.x * 4],
                               cuda::aligned_size_t<16>(16), pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            for (int i = threadIdx.x - 128; i < TILE; i += 128)
                out[at + i] = stages[tile % STAGES][i] + stages[tile % STAGES][TILE - 1 - i];
            pipeline.consumer_release();
        }
    }
}

// A stencil of five points along x; the tile with its halo comes by `cuda::memcpy_async` on a `cuda::barrier`.
extern "C" __global__ void __launch_bounds__(128) barrier_stencil(const int *in, int *out, int n)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    constexpr int TILE = 128;
    __shared__ int tile[TILE + 4];
    __shared__ barrier done;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&done, block.size());
    block.sync();
    for (int start = blockIdx.x * TILE; start < n; start += gridDim.x * TILE) {
        cuda::memcpy_async(block, tile, in + start, sizeof(tile), done);
        done.arrive_and_wait();
        const int *at = tile + threadIdx.x;
        out[start + threadIdx.x] = at[0] - 4 * at[1] + 6 * at[2] - 4 * at[3] + at[4];
        block.sync();
    }
}

// Rows reversed; a row comes by the `memcpy_async` of cooperative groups.
extern "C" __global__ void __launch_bounds__(64) group_reverse(const short *in, short *out, int width)
{
    extern __shared__ short row[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, row, in + blockIdx.x * width, width * sizeof(short));
    cg::wait(block);
    for (int i = threadIdx.x; i < width; i += blockDim.x) out[blockIdx.x * width + i] = row[width - 1 - i];
}
