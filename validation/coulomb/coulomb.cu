// Direct Coulomb summation: the potential of point charges on a regular three-dimensional grid. A thread computes Z
// points that lie above each other, so that what depends on x and y alone is computed once per charge.
//
// The 42 kernels are the variants that were measured: Z, the unrolling of the loop over the Z points (0: whole), and the
// charges as one array of (x, y, z, charge) or as four arrays. Make the PTX with
//
//     nvcc -ptx -arch=compute_75 -use_fast_math coulomb.cu -o - | sed '/^\/\//d; /^$/d' > sm_75.ptx

struct Together {
    const float4 *points;
    __device__ float4 at(int point) const { return points[point]; }
};

struct Apart {
    const float *xs, *ys, *zs, *charges;
    __device__ float4 at(int point) const
    {
        return make_float4(xs[point], ys[point], zs[point], charges[point]);
    }
};

template <int Z, int UNROLL, class Charges>
__device__ __forceinline__ void add_potentials(
    Charges charges, int n_charges, float spacing, int size, float *potential)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int lowest = (blockIdx.z * blockDim.z + threadIdx.z) * Z;
    if (column >= size || row >= size || lowest >= size)
        return;

    float x = spacing * column;
    float y = spacing * row;
    float z = spacing * lowest;
    float sums[Z] = {};
    constexpr int unroll = UNROLL > 0 ? UNROLL : Z;

    for (int i = 0; i < n_charges; i++) {
        float4 charge = charges.at(i);
        float dx = x - charge.x;
        float dy = y - charge.y;
        float dz = z - charge.z;
#pragma unroll unroll
        for (int level = 0; level < Z; level++) {
            sums[level] += charge.w * rsqrt(dx * dx + dy * dy + dz * dz);
            dz += spacing;
        }
    }

    int plane = size * size;
    int first = plane * lowest + size * row + column;
    for (int level = 0; level < Z; level++)
        if (lowest + level < size)
            potential[first + plane * level] += sums[level];
}

#define KERNELS(Z, UNROLL)                                                                                       \
    extern "C" __global__ void aos_z##Z##_unroll##UNROLL(                                                        \
        const float4 *points, int n_charges, float spacing, int size, float *potential)                         \
    {                                                                                                            \
        add_potentials<Z, UNROLL>(Together{points}, n_charges, spacing, size, potential);                        \
    }                                                                                                            \
    extern "C" __global__ void soa_z##Z##_unroll##UNROLL(const float *xs, const float *ys, const float *zs,      \
        const float *charges, int n_charges, float spacing, int size, float *potential)                         \
    {                                                                                                            \
        add_potentials<Z, UNROLL>(Apart{xs, ys, zs, charges}, n_charges, spacing, size, potential);              \
    }

KERNELS(1, 0)
KERNELS(2, 0)
KERNELS(2, 1)
KERNELS(4, 0)
KERNELS(4, 1)
KERNELS(4, 2)
KERNELS(8, 0)
KERNELS(8, 1)
KERNELS(8, 2)
KERNELS(8, 4)
KERNELS(16, 0)
KERNELS(16, 1)
KERNELS(16, 2)
KERNELS(16, 4)
KERNELS(16, 8)
KERNELS(32, 0)
KERNELS(32, 1)
KERNELS(32, 2)
KERNELS(32, 4)
KERNELS(32, 8)
KERNELS(32, 16)
