// A kernel with what a module can hold besides code: constants, variables, a device function, memory of all kinds.

struct Tap {
    float weight;
    short offset;
    char pad;
};

__constant__ float weights[8] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f};
__device__ int counters[4] = {1, 2, 3, 4};
__device__ double total;
__device__ const float* table = weights;

__device__ __noinline__ float tap(const float* in, Tap t, int at) {
    return in[at + t.offset] * t.weight;
}

extern "C" __global__ void __launch_bounds__(128) parts(const float* in, float* out, Tap t, char shift, int n) {
    __shared__ float tile[128];
    extern __shared__ float dynamic[];
    float local[16];
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < 16; ++k) local[k] = in[i + k];
    tile[threadIdx.x] = local[(n + shift) & 15];
    __syncthreads();
    dynamic[threadIdx.x] = tile[127 - threadIdx.x] * weights[n & 7];
    __syncthreads();
    float sum = tap(dynamic, t, threadIdx.x) + *table;
    if (i >= n) {
        atomicAdd(&counters[n & 3], 1);
        return;
    }
    if (sum > 1e30f) total = sum;
    out[i] = sum;
}

extern "C" __global__ void second(int* out) { out[threadIdx.x] = counters[threadIdx.x & 3]; }
