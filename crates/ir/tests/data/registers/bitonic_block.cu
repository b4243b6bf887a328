// Bitonic sort of 512 keys per block in shared memory.
extern "C" __global__ void bitonic_block(unsigned* keys) {
    __shared__ unsigned s[512];
    int t = threadIdx.x;
    s[t] = keys[blockIdx.x * 512 + t];
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int p = t ^ j;
            if (p > t) {
                unsigned a = s[t], b = s[p];
                if ((a > b) == ((t & k) == 0)) { s[t] = b; s[p] = a; }
            }
        }
    __syncthreads();
    keys[blockIdx.x * 512 + t] = s[t];
}
