// The near field of the fast multipole method: for every target point the sum over all source points of the boxes in its
// box's U-list of density / distance. One block per target box, one thread per target point; boxes hold different numbers
// of points, so that some threads have none and others several.
//
// Variants, in all combinations; the name of a kernel lists what it has:
//   vecpack  points as structures of four floats that are loaded as one vector, else four arrays
//   shmem    the block loads as many source points as it has threads into shared memory; what is left over is read directly
//   trans    shared memory holds structures too, else four arrays
//   pref     the next source point (with shmem: the next tile) is loaded while the present one is computed
//   ujam     two target points per thread, as long as there are enough: each source point is loaded once for both
//   rsqrt    density * rsqrt(d) in place of density / sqrt(d)
// fmm_tight is the baseline written with float3 and float4; the compiler makes the same of it.
//
// Without ALL only the kernels of one variant each are compiled.

enum { VECPACK = 1, SHARED = 2, TRANS = 4, PREFETCH = 8, UJAM = 16, RSQRT = 32, TIGHT = 64 };

extern __shared__ float4 tile[];

// Coordinates x, y, z and density of point i of n.
template <int F>
__device__ __forceinline__ float4 point(const float* points, int n, int i) {
    if (F & VECPACK) {
        return reinterpret_cast<const float4*>(points)[i];
    }
    return make_float4(points[i], points[n + i], points[2 * n + i], points[3 * n + i]);
}

template <int F>
__device__ __forceinline__ void keep(int i, float4 source) {
    if (F & TRANS) {
        tile[i] = source;
        return;
    }
    float* component = reinterpret_cast<float*>(tile) + i;
    component[0] = source.x;
    component[blockDim.x] = source.y;
    component[2 * blockDim.x] = source.z;
    component[3 * blockDim.x] = source.w;
}

template <int F>
__device__ __forceinline__ float4 kept(int i) {
    if (F & TRANS) {
        return tile[i];
    }
    const float* component = reinterpret_cast<const float*>(tile) + i;
    return make_float4(component[0], component[blockDim.x], component[2 * blockDim.x], component[3 * blockDim.x]);
}

template <int F>
__device__ __forceinline__ void interact(float4 target, float4 source, float& sum) {
    float square;
    if (F & TIGHT) {
        float3 d = make_float3(target.x - source.x, target.y - source.y, target.z - source.z);
        square = d.x * d.x + d.y * d.y + d.z * d.z;
    } else {
        float dx = target.x - source.x;
        float dy = target.y - source.y;
        float dz = target.z - source.z;
        square = dx * dx + dy * dy + dz * dz;
    }
    if (F & RSQRT) {
        sum += source.w * rsqrtf(square);
    } else {
        sum += source.w / sqrtf(square);
    }
}

// Adds sources [from, to), which every thread reads for itself, to the sums of TARGETS targets.
template <int F, int TARGETS>
__device__ __forceinline__ void add_direct(const float* sources, int n, int from, int to, const float4* target,
                                           float* sum) {
    float4 next;
    if ((F & PREFETCH) && from < to) {
        next = point<F>(sources, n, from);
    }
#pragma unroll 1
    for (int s = from; s < to; ++s) {
        float4 source;
        if (F & PREFETCH) {
            source = next;
            // Behind the last point of the last box there is one more.
            next = point<F>(sources, n, s + 1);
        } else {
            source = point<F>(sources, n, s);
        }
#pragma unroll
        for (int k = 0; k < TARGETS; ++k) {
            interact<F>(target[k], source, sum[k]);
        }
    }
}

// The same through shared memory, tile by tile; returns the first source that fills no tile.
template <int F, int TARGETS>
__device__ __forceinline__ int add_tiles(const float* sources, int n, int from, int to, const float4* target,
                                         float* sum) {
    int threads = blockDim.x;
    float4 next;
    if ((F & PREFETCH) && from + threads <= to) {
        next = point<F>(sources, n, from + threadIdx.x);
    }
#pragma unroll 1
    for (; from + threads <= to; from += threads) {
        float4 own = (F & PREFETCH) ? next : point<F>(sources, n, from + threadIdx.x);
        __syncthreads();
        keep<F>(threadIdx.x, own);
        __syncthreads();
        if ((F & PREFETCH) && from + 2 * threads <= to) {
            next = point<F>(sources, n, from + threads + threadIdx.x);
        }
#pragma unroll 1
        for (int i = 0; i < threads; ++i) {
            float4 source = kept<F>(i);
#pragma unroll
            for (int k = 0; k < TARGETS; ++k) {
                interact<F>(target[k], source, sum[k]);
            }
        }
    }
    return from;
}

struct Boxes {
    const int* start;
    const int* count;
    const int* u_start;
    const int* u_list;
};

// Potentials of the targets base + k * blockDim.x + threadIdx.x, as far as they lie before end.
template <int F, int TARGETS>
__device__ __forceinline__ void potentials(Boxes boxes, const float* targets, const float* sources, int n, int base,
                                           int end, float* potential) {
    float4 target[TARGETS];
    float sum[TARGETS];
#pragma unroll
    for (int k = 0; k < TARGETS; ++k) {
        int t = base + k * blockDim.x + threadIdx.x;
        target[k] = point<F>(targets, n, min(t, end - 1));
        sum[k] = 0.0f;
    }
#pragma unroll 1
    for (int u = boxes.u_start[blockIdx.x]; u < boxes.u_start[blockIdx.x + 1]; ++u) {
        int box = boxes.u_list[u];
        int from = boxes.start[box];
        int to = from + boxes.count[box];
        if (F & SHARED) {
            from = add_tiles<F, TARGETS>(sources, n, from, to, target, sum);
        }
        add_direct<F, TARGETS>(sources, n, from, to, target, sum);
    }
#pragma unroll
    for (int k = 0; k < TARGETS; ++k) {
        int t = base + k * blockDim.x + threadIdx.x;
        if (t < end) {
            potential[t] = sum[k];
        }
    }
}

template <int F>
__device__ __forceinline__ void box(Boxes boxes, const float* targets, const float* sources, int n, float* potential) {
    int threads = blockDim.x;
    int base = boxes.start[blockIdx.x];
    int end = base + boxes.count[blockIdx.x];
    // With shared memory all threads go along, because all load; without it those that have a target.
    bool all = (F & SHARED) != 0;
    if (F & UJAM) {
#pragma unroll 1
        for (; base + threads < end; base += 2 * threads) {
            potentials<F, 2>(boxes, targets, sources, n, base, end, potential);
        }
    }
#pragma unroll 1
    for (; all ? base < end : base + int(threadIdx.x) < end; base += threads) {
        potentials<F, 1>(boxes, targets, sources, n, base, end, potential);
    }
}

#define KERNEL(name, flags)                                                                                        \
    extern "C" __global__ void name(const int* start, const int* count, const int* u_start, const int* u_list,     \
                                    const float* targets, const float* sources, float* potential, int n) {         \
        box<(flags)>(Boxes{start, count, u_start, u_list}, targets, sources, n, potential);                        \
    }

#ifdef ALL
#define WITH_RSQRT(name, flags) KERNEL(name, flags) KERNEL(name##_rsqrt, (flags) | RSQRT)
#define WITH_UJAM(name, flags) WITH_RSQRT(name, flags) WITH_RSQRT(name##_ujam, (flags) | UJAM)
#define WITH_PREF(name, flags) WITH_UJAM(name, flags) WITH_UJAM(name##_pref, (flags) | PREFETCH)
#define WITH_SHMEM(name, flags)                                                                                    \
    WITH_PREF(name, flags) WITH_PREF(name##_shmem, (flags) | SHARED)                                               \
    WITH_PREF(name##_shmem_trans, (flags) | SHARED | TRANS)
WITH_SHMEM(fmm, 0)
WITH_SHMEM(fmm_vecpack, VECPACK)
KERNEL(fmm_tight, TIGHT)
#else
KERNEL(fmm, 0)
KERNEL(fmm_shmem, SHARED)
KERNEL(fmm_ujam, UJAM)
KERNEL(fmm_vecpack, VECPACK)
KERNEL(fmm_rsqrt, RSQRT)
KERNEL(fmm_pref, PREFETCH)
#endif
