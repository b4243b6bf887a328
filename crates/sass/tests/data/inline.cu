// Functions inlined into each other, and two more kernels, for the tables of lines. The rows of `inlined` come after those
// of the others.

__device__ int counter;

__device__ __forceinline__ int inner(int x) { return x * 3 + counter; }
__device__ __forceinline__ int outer(int x) { return inner(x) ^ inner(x + 7); }

extern "C" __global__ void inlined(int* out) {
    out[threadIdx.x] = outer(out[threadIdx.x + 1]);
}

extern "C" __global__ void first(int* out) { out[threadIdx.x] = 1; }

extern "C" __global__ void second(int* out) { out[threadIdx.x] = 2; }
