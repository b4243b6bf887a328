// A grid-stride loop whose length is no multiple of anything: out[i] = a[i] * i, elements beyond n stay untouched.
extern "C" __global__ void grid_stride(const int* a, int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i] * i;
}
