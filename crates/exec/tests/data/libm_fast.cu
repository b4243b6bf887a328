// nvcc: -use_fast_math
// The same library calls compiled with fast math: approximate instructions, flush to zero, approximate division.
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void libm_fast(const float* a, const float* b, float* out) {
    int lane = threadIdx.x;
    float x = a[lane], y = b[lane];
    PUT(0, sinf(y));
    PUT(1, cosf(y));
    PUT(2, expf(y));
    PUT(3, logf(x));
    PUT(4, powf(x, y));
    PUT(5, y / x);
    PUT(6, sqrtf(x));
    PUT(7, tanf(y));
    PUT(8, x * 1e-40f + 1e-39f);
}
