// Products of matrices with `wgmma`: a warp keeps tiles coming by tensor maps, warpgroups multiply them.
// C = A B, with A row-major and, unless said, B column-major: rows of both tiles are 128 bytes along the depth.

#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

__device__ uint32_t shared_address(const void *pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void barrier_init(uint64_t *barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}

__device__ void barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ void barrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void barrier_arrive_at(uint64_t *barrier, uint32_t block)
{
    asm volatile("{\n\t.reg .b32 remote;\n\t"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n\t}" ::"r"(shared_address(barrier)),
                 "r"(block)
                 : "memory");
}

__device__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n\t.reg .pred done;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

__device__ void fetch_box_for(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier, uint16_t blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(blocks)
                 : "memory");
}

// A tile of rows of 128 bytes with the 128-byte swizzle: groups of eight rows lie 1024 bytes apart.
__device__ uint64_t descriptor(const void *tile)
{
    return (shared_address(tile) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define LIST_32 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define SUMS_4(kind, i) kind(sum[i]), kind(sum[i + 1]), kind(sum[i + 2]), kind(sum[i + 3])
#define SUMS_32(kind) \
    SUMS_4(kind, 0), SUMS_4(kind, 4), SUMS_4(kind, 8), SUMS_4(kind, 12), SUMS_4(kind, 16), SUMS_4(kind, 20), \
        SUMS_4(kind, 24), SUMS_4(kind, 28)

struct Half {
    static constexpr int DEPTH = 64;
    using Sum = float;
    static __device__ void multiply(float (&sum)[32], uint64_t left, uint64_t right)
    {
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST_32 ", %32, %33, 1, 1, 1, 0, 0;"
                     : SUMS_32("+f")
                     : "l"(left), "l"(right));
    }
};

struct Tf32 {
    static constexpr int DEPTH = 32;
    using Sum = float;
    static __device__ void multiply(float (&sum)[32], uint64_t left, uint64_t right)
    {
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " LIST_32 ", %32, %33, 1, 1, 1;"
                     : SUMS_32("+f")
                     : "l"(left), "l"(right));
    }
};

struct Fp8 {
    static constexpr int DEPTH = 128;
    using Sum = float;
    static __device__ void multiply(float (&sum)[32], uint64_t left, uint64_t right)
    {
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e5m2 " LIST_32 ", %32, %33, 1, 1, 1;"
                     : SUMS_32("+f")
                     : "l"(left), "l"(right));
    }
};

struct Bytes {
    static constexpr int DEPTH = 128;
    using Sum = int;
    static __device__ void multiply(int (&sum)[32], uint64_t left, uint64_t right)
    {
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 " LIST_32 ", %32, %33, 1;"
                     : SUMS_32("+r")
                     : "l"(left), "l"(right));
    }
};

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory"); }

template <class Sum> __device__ void store(const Sum (&sum)[32], Sum *c, int n)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    for (int i = 0; i < 32; ++i)
        c[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

constexpr int STAGES = 4, TILE_A = 128 * 128, TILE_B = 64 * 128;

// Two warpgroups make 128 x 64 results; a third one fetches, and gives its registers away.
template <class Kind>
__device__ void product(const CUtensorMap &a, const CUtensorMap &b, typename Kind::Sum *c, int n, int depth)
{
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    const int group = threadIdx.x / 128, n_tiles = depth / Kind::DEPTH;
    if (group == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 256)
            for (int tile = 0; tile < n_tiles; ++tile) {
                const int stage = tile % STAGES;
                barrier_wait(&empty[stage], tile / STAGES % 2 ^ 1);
                barrier_expect(&full[stage], TILE_A + TILE_B);
                unsigned char *to = tiles + stage * (TILE_A + TILE_B);
                fetch_box(to, &a, tile * Kind::DEPTH, blockIdx.y * 128, &full[stage]);
                fetch_box(to + TILE_A, &b, tile * Kind::DEPTH, blockIdx.x * 64, &full[stage]);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    typename Kind::Sum sum[32] = {};
    for (int tile = 0; tile < n_tiles; ++tile) {
        const int stage = tile % STAGES;
        barrier_wait(&full[stage], tile / STAGES % 2);
        const unsigned char *from = tiles + stage * (TILE_A + TILE_B);
        fence();
#pragma unroll
        for (int step = 0; step < 4; ++step)
            Kind::multiply(sum, descriptor(from + group * 64 * 128 + step * 32), descriptor(from + TILE_A + step * 32));
        commit();
        wait<0>();
        // Each warp has read what it needs of the tile.
        if (threadIdx.x % 32 == 0) barrier_arrive(&empty[stage]);
    }
    store(sum, c + (blockIdx.y * 128 + group * 64) * n + blockIdx.x * 64, n);
}

extern "C" __global__ void __launch_bounds__(384, 1) wgmma_half(const __grid_constant__ CUtensorMap a,
    const __grid_constant__ CUtensorMap b, float *c, int n, int depth)
{
    product<Half>(a, b, c, n, depth);
}

extern "C" __global__ void __launch_bounds__(384, 1) wgmma_tf32(const __grid_constant__ CUtensorMap a,
    const __grid_constant__ CUtensorMap b, float *c, int n, int depth)
{
    product<Tf32>(a, b, c, n, depth);
}

extern "C" __global__ void __launch_bounds__(384, 1) wgmma_fp8(const __grid_constant__ CUtensorMap a,
    const __grid_constant__ CUtensorMap b, float *c, int n, int depth)
{
    product<Fp8>(a, b, c, n, depth);
}

extern "C" __global__ void __launch_bounds__(384, 1) wgmma_bytes(const __grid_constant__ CUtensorMap a,
    const __grid_constant__ CUtensorMap b, int *c, int n, int depth)
{
    product<Bytes>(a, b, c, n, depth);
}

// A comes from registers and B, row-major, is read transposed; one warpgroup makes 64 x 64 results.
extern "C" __global__ void __launch_bounds__(128) wgmma_registers(const half *a,
    const __grid_constant__ CUtensorMap b, float *c, int n, int depth)
{
    __shared__ __align__(1024) unsigned char tile[TILE_B];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const half *left = a + (blockIdx.y * 64 + warp * 16 + lane / 4) * depth + lane % 4 * 2;
    float sum[32] = {};
    for (int k = 0; k < depth; k += 64) {
        if (threadIdx.x == 0) {
            barrier_expect(&full, TILE_B);
            fetch_box(tile, &b, blockIdx.x * 64, k, &full);
        }
        barrier_wait(&full, k / 64 % 2);
        unsigned part[4][4];
        for (int step = 0; step < 4; ++step)
            for (int i = 0; i < 4; ++i)
                part[step][i] = *reinterpret_cast<const unsigned *>(left + i % 2 * 8 * depth + k + step * 16 + i / 2 *
                    8);
        fence();
#pragma unroll
        for (int step = 0; step < 4; ++step)
            asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST_32
                         ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                         : SUMS_32("+f")
                         : "r"(part[step][0]), "r"(part[step][1]), "r"(part[step][2]), "r"(part[step][3]),
                           "l"(descriptor(tile + step * 16 * 128)));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(sum, c + blockIdx.y * 64 * n + blockIdx.x * 64, n);
}

// Two blocks of a cluster, one above the other, share their tiles of B: each fetches half of them for both.
extern "C" __global__ void __cluster_dims__(1, 2,
    1) __launch_bounds__(160) wgmma_multicast(const __grid_constant__ CUtensorMap a,
        const __grid_constant__ CUtensorMap b, float *c, int n, int depth)
{
    extern __shared__ __align__(1024) unsigned char boxes[];
    __shared__ uint64_t full[2], empty[2];
    constexpr int SIZE = 64 * 128;
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    const int n_tiles = depth / 64;
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int tile = 0; tile < n_tiles; ++tile) {
                const int stage = tile % 2;
                unsigned char *to = boxes + stage * 2 * SIZE;
                barrier_wait(&empty[stage], tile / 2 % 2 ^ 1);
                barrier_expect(&full[stage], 2 * SIZE);
                fetch_box(to, &a, tile * 64, blockIdx.y * 64, &full[stage]);
                fetch_box_for(to + SIZE + rank * SIZE / 2, &b, tile * 64, blockIdx.x * 64 + rank * 32, &full[stage], 3);
            }
        __syncwarp();
    } else {
        float sum[32] = {};
        for (int tile = 0; tile < n_tiles; ++tile) {
            const int stage = tile % 2;
            barrier_wait(&full[stage], tile / 2 % 2);
            const unsigned char *from = boxes + stage * 2 * SIZE;
            fence();
#pragma unroll
            for (int step = 0; step < 4; ++step)
                Half::multiply(sum, descriptor(from + step * 32), descriptor(from + SIZE + step * 32));
            commit();
            wait<0>();
            // A tile may be written over once the warps of both blocks have read it.
            if (threadIdx.x % 32 < 2) barrier_arrive_at(&empty[stage], threadIdx.x % 32);
            __syncwarp();
        }
        store(sum, c + blockIdx.y * 64 * n + blockIdx.x * 64, n);
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
