// Monte Carlo estimate with a per-thread xorshift generator and precise special functions.
extern "C" __global__ void random_walk(float* out, unsigned seed, int steps, float drift, float sigma) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = seed ^ (i * 2654435761u + 1);
    float value = 1;
    for (int k = 0; k < steps; ++k) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        float u = (s >> 8) * 5.9604645e-8f + 2.9802322e-8f;
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        float v = (s >> 8) * 5.9604645e-8f;
        value *= expf(drift + sigma * sqrtf(-2 * logf(u)) * cosf(6.2831853f * v));
    }
    out[i] = value;
}
