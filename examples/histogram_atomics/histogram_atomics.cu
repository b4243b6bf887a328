// bins[v] += number of bytes with value v, through one histogram per block in shared memory.
//
// A shared-memory atomic serialises when threads of a warp hit the same bin, so the time depends on the data: compare
// uniform bytes with the constant ones of launch-contended.toml. Each block adds its 256 counts to global memory once.
// The caller clears the bins.

constexpr int BINS = 256;

extern "C" __global__ void histogram_atomics(const unsigned char* data, unsigned int* bins, int n) {
    __shared__ unsigned int local[BINS];

    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        local[bin] = 0;
    }
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[data[i]], 1u);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        atomicAdd(&bins[bin], local[bin]);
    }
}
