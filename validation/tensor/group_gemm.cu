// A product of f16 matrices with f32 sums, c = a b, as libraries make it for compute capability 9.0: a warp brings tiles of
// both factors to shared memory as boxes of tensors, two groups of four warps multiply them from there, and barriers in shared
// memory say which stages are full and which are free. b lies by columns, c by rows.
//
// The kernels differ in the columns of a tile, in the number of stages, and in whether two blocks of a cluster, whose tiles
// lie below each other, fetch half of the columns of b each for both.
#include <cuda_fp16.h>

constexpr int DEPTH = 64, ROWS = 128;

struct alignas(64) Map {
    char bytes[128];
};

__device__ __forceinline__ unsigned in_shared(const void* place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\nWAIT_%=:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT_%=;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

__device__ __forceinline__ void copy(unsigned to, const Map* map, int x, int y, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

__device__ __forceinline__ void copy_to_both(unsigned to, const Map* map, int x, int y, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>(3))
        : "memory");
}

__device__ __forceinline__ void arrive_at(unsigned barrier, unsigned block) {
    asm volatile(
        "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
        "r"(block)
        : "memory");
}

__device__ __forceinline__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Rows of 128 bytes, swizzled; eight of them are a piece.
__device__ __forceinline__ unsigned long long descriptor(unsigned place) {
    return (place & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define S4(n) "+f"(s[n]), "+f"(s[n + 1]), "+f"(s[n + 2]), "+f"(s[n + 3])
#define S16(n) S4(n), S4(n + 4), S4(n + 8), S4(n + 12)
#define S64(n) S16(n), S16(n + 16), S16(n + 32), S16(n + 48)

template <int COLUMNS>
struct Product;

template <>
struct Product<256> {
    static __device__ __forceinline__ void add(float (&s)[128], unsigned long long a, unsigned long long b) {
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
            "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
            "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
            "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
            "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
            "%128, %129, 1, 1, 1, 0, 0;"
            : S64(0), S64(64)
            : "l"(a), "l"(b));
    }
};

template <>
struct Product<64> {
    static __device__ __forceinline__ void add(float (&s)[32], unsigned long long a, unsigned long long b) {
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
            "%32, %33, 1, 1, 1, 0, 0;"
            : S16(0), S16(16)
            : "l"(a), "l"(b));
    }
};

template <int COLUMNS, int STAGES, bool IN_PAIRS = false>
__device__ __forceinline__ void multiply(float* c, const Map* a, const Map* b, int n, int k) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ alignas(8) unsigned long long full[STAGES], empty[STAGES];
    constexpr unsigned OF_A = ROWS * DEPTH * 2, OF_B = COLUMNS * DEPTH * 2, STAGE = OF_A + OF_B;
    unsigned first = (in_shared(tiles) + 1023) & ~1023u;
    unsigned is_full = in_shared(full), is_empty = in_shared(empty);
    int group = threadIdx.x / 128, steps = k / DEPTH;
    unsigned rank = 0;
    if (IN_PAIRS) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(is_full + 8 * stage));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(is_empty + 8 * stage), "n"(IN_PAIRS ? 4 : 2));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (IN_PAIRS)
        meet();
    else
        __syncthreads();
    int row = (IN_PAIRS ? blockIdx.x : blockIdx.y) * ROWS, column = (IN_PAIRS ? blockIdx.y : blockIdx.x) * COLUMNS;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int step = 0; step < steps; step++) {
                int stage = step % STAGES;
                if (step >= STAGES) wait(is_empty + 8 * stage, (step / STAGES - 1) & 1);
                unsigned barrier = is_full + 8 * stage;
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE) : "memory");
                copy(first + stage * STAGE, a, step * DEPTH, row, barrier);
                unsigned to_b = first + stage * STAGE + OF_A;
                if (IN_PAIRS)
                    copy_to_both(to_b + rank * OF_B / 2, b, step * DEPTH, column + rank * COLUMNS / 2, barrier);
                else
                    copy(to_b, b, step * DEPTH, column, barrier);
            }
        }
        // A block must not end while the other one still tells its barriers something.
        if (IN_PAIRS) meet();
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int half = group - 1;
    float sums[COLUMNS / 2] = {};
    for (int step = 0; step < steps; step++) {
        int stage = step % STAGES;
        wait(is_full + 8 * stage, (step / STAGES) & 1);
        unsigned of_a = first + stage * STAGE + half * OF_A / 2, of_b = first + stage * STAGE + OF_A;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int part = 0; part < DEPTH / 16; part++)
            Product<COLUMNS>::add(sums, descriptor(of_a + 32 * part), descriptor(of_b + 32 * part));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // The step before is done; its stage may be filled again.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        unsigned done = is_empty + 8 * ((step + STAGES - 1) % STAGES);
        if (IN_PAIRS) {
            if (step > 0 && threadIdx.x % 128 < 2) arrive_at(done, threadIdx.x % 128);
        } else if (step > 0 && threadIdx.x % 128 == 0) {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(done) : "memory");
        }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    int lane = threadIdx.x % 32, line = row + half * 64 + threadIdx.x % 128 / 32 * 16 + lane / 4;
    float* out = c + line * static_cast<long long>(n) + column + lane % 4 * 2;
#pragma unroll
    for (int at = 0; at < COLUMNS / 8; at++) {
        reinterpret_cast<float2*>(out + at * 8)[0] = make_float2(sums[4 * at], sums[4 * at + 1]);
        reinterpret_cast<float2*>(out + at * 8 + 8ll * n)[0] = make_float2(sums[4 * at + 2], sums[4 * at + 3]);
    }
    if (IN_PAIRS) meet();
}

#define KERNEL(name, cluster, ...)                                                                                     \
    extern "C" __global__ cluster __launch_bounds__(384, 1) void name(float* c, const __grid_constant__ Map a,         \
                                                                      const __grid_constant__ Map b, int n, int k) {   \
        multiply<__VA_ARGS__>(c, &a, &b, n, k);                                                                        \
    }

KERNEL(pairs_128_by_256, __cluster_dims__(2), 256, 4, true)
KERNEL(groups_128_by_256, , 256, 4)
KERNEL(groups_128_by_64, , 64, 4)
KERNEL(pairs_two_stages, __cluster_dims__(2), 256, 2, true)
