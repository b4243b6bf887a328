// Floating-point atomic additions in f32, f64, f16, f16x2 and bf16x2, and a maximum built from compare-and-swap. The
// summands are small integers and halves, so every order gives the same exact sum.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float atomic_max(float* at, float value) {
    int* bits = (int*)at;
    int old = *bits, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= value) break;
        old = atomicCAS(bits, seen, __float_as_int(value));
    } while (old != seen);
    return __int_as_float(old);
}

extern "C" __global__ void atomics_float(float* f, double* d, __half2* h, __half* single, __nv_bfloat162* b, float* top) {
    __shared__ float shared_f;
    __shared__ double shared_d;
    int t = threadIdx.x;
    if (t == 0) shared_f = 1.0f, shared_d = 2.0;
    __syncthreads();
    atomicAdd(&f[0], t * 0.5f);
    atomicAdd(&shared_f, t * 0.25f);
    atomicAdd(&d[0], t * 0.125 + 1e9);
    atomicAdd(&shared_d, (double)t);
    atomicAdd(h, __floats2half2_rn(1.0f, -0.5f));
    atomicAdd(single, __float2half_rn(t % 4));
    atomicAdd(b, __floats2bfloat162_rn(1.0f, 2.0f));
    atomic_max(top, (float)((t * 29) % 64) - 10.5f);
    __syncthreads();
    if (t == 0) f[1] = shared_f, d[1] = shared_d;
}
