// Sorts 128 keys with a bitonic network in shared memory.
extern "C" __global__ void bitonic_sort(int* keys) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = keys[t];
    for (int k = 2; k <= 128; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int partner = t ^ j;
            if (partner > t) {
                bool ascending = (t & k) == 0;
                int a = s[t], b = s[partner];
                if ((a > b) == ascending) s[t] = b, s[partner] = a;
            }
        }
    }
    __syncthreads();
    keys[t] = s[t];
}
