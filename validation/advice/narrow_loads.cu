// A byte per thread. Repaired: four.
extern "C" __global__ void mistake(const unsigned char* __restrict__ a, unsigned char* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 255 - a[i];  // here
}

extern "C" __global__ void repaired(const uchar4* __restrict__ a, uchar4* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        uchar4 v = a[i];
        b[i] = make_uchar4(255 - v.x, 255 - v.y, 255 - v.z, 255 - v.w);
    }
}
