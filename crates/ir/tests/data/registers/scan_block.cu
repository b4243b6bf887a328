// Work-efficient exclusive scan of 1024 values per block in shared memory.
extern "C" __global__ void scan_block(const int* in, int* out, int* totals) {
    __shared__ int data[1024];
    int t = threadIdx.x;
    int base = blockIdx.x * 1024;
    data[2 * t] = in[base + 2 * t];
    data[2 * t + 1] = in[base + 2 * t + 1];
    int offset = 1;
    for (int d = 512; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) data[offset * (2 * t + 2) - 1] += data[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) {
        totals[blockIdx.x] = data[1023];
        data[1023] = 0;
    }
    for (int d = 1; d < 1024; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1;
            int b = offset * (2 * t + 2) - 1;
            int left = data[a];
            data[a] = data[b];
            data[b] += left;
        }
    }
    __syncthreads();
    out[base + 2 * t] = data[2 * t];
    out[base + 2 * t + 1] = data[2 * t + 1];
}
