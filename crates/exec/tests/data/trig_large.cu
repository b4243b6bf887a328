// sinf and cosf of arguments beyond 105615, where the argument reduction takes its slow path through local memory.
extern "C" __global__ void trig_large(const float* a, float* sine, float* cosine) {
    int lane = threadIdx.x;
    sine[lane] = sinf(a[lane]);
    cosine[lane] = cosf(a[lane]);
}
