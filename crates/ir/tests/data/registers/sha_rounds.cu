// Sixteen rounds of a SHA-256-like compression: many live 32-bit values.
__device__ unsigned rotr(unsigned x, int n) { return __funnelshift_r(x, x, n); }
extern "C" __global__ void sha_rounds(const unsigned* message, unsigned* digest, const unsigned* k, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned w[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) w[j] = message[j * n + i];
    unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a, e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
#pragma unroll
    for (int j = 0; j < 48; ++j) {
        if (j >= 16) {
            unsigned x = w[(j + 1) % 16], y = w[(j + 14) % 16];
            w[j % 16] += (rotr(x, 7) ^ rotr(x, 18) ^ (x >> 3)) + w[(j + 9) % 16] + (rotr(y, 17) ^ rotr(y, 19) ^ (y >> 10));
        }
        unsigned t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[j] + w[j % 16];
        unsigned t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    unsigned out[8] = {a, b, c, d, e, f, g, h};
#pragma unroll
    for (int j = 0; j < 8; ++j) digest[j * n + i] = out[j];
}
