// c[i] = a[i] + b[i], one thread per element.
//
// The plainest streaming kernel: every warp reads two and writes one contiguous 128-byte line, and there is one addition
// per 12 bytes moved. Its time is set by the memory bandwidth on every GPU.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
