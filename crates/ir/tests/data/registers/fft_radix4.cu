// One radix-4 butterfly pass over complex values with computed twiddle factors.
__device__ float2 mul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
extern "C" __global__ void fft_radix4(float2* data, int quarter, int span) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quarter) return;
    float angle = -6.2831853f * (i % span) / (4 * span);
    float2 w1, w2, w3;
    __sincosf(angle, &w1.y, &w1.x);
    w2 = mul(w1, w1);
    w3 = mul(w2, w1);
    float2 a = data[i], b = mul(w1, data[i + quarter]), c = mul(w2, data[i + 2 * quarter]), d = mul(w3, data[i + 3 * quarter]);
    float2 e = add(a, c), f = sub(a, c), g = add(b, d), h = sub(b, d);
    int o = (i / span) * span * 4 + i % span;
    data[o] = add(e, g);
    data[o + span] = make_float2(f.x + h.y, f.y - h.x);
    data[o + 2 * span] = sub(e, g);
    data[o + 3 * span] = make_float2(f.x - h.y, f.y + h.x);
}
