// A 32-bit mixing hash over 16 words per thread: integer multiplies, rotations and exclusive ors.
__device__ unsigned rotate(unsigned x, int by) { return (x << by) | (x >> (32 - by)); }
extern "C" __global__ void hash_words(const uint4* words, unsigned* out, unsigned seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = seed;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        uint4 w = words[i * 4 + j];
        unsigned k[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int l = 0; l < 4; ++l) {
            unsigned m = rotate(k[l] * 0xcc9e2d51u, 15) * 0x1b873593u;
            h = rotate(h ^ m, 13) * 5u + 0xe6546b64u;
        }
    }
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    out[i] = h ^ (h >> 16);
}
