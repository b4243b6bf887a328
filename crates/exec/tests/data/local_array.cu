// A local array with a run-time index (local memory): each lane writes a permutation and reads it back through its index.
extern "C" __global__ void local_array(const int* index, int* out, unsigned char* bytes) {
    int lane = threadIdx.x;
    int stack[16];
    unsigned char text[32];
    for (int i = 0; i < 16; ++i) {
        stack[(i * 5 + lane) % 16] = i * 100 + lane;
        text[(i * 7 + lane) % 32] = (unsigned char)(i + lane);
    }
    int at = index[lane];
    for (int hop = 0; hop < 4; ++hop) at = stack[(at + hop) % 16] / 100;
    out[lane] = stack[at] + at;
    bytes[lane] = text[(3 * 7 + lane) % 32];
}
