// Direct calls with several parameters, a structure returned by value, a pointer to a local, and a call that only part
// of the warp makes.
struct Pair {
    int quotient;
    long long product;
    float ratio;
};
__device__ __noinline__ Pair combine(int a, int b, short c) {
    Pair p;
    p.quotient = a / b;
    p.product = (long long)a * b + c;
    p.ratio = (float)a / (float)b;
    return p;
}
__device__ __noinline__ void accumulate(int* total, int by) { *total += by; }

extern "C" __global__ void calls(const int* a, const int* b, int* quotient, long long* product, float* ratio, int* total) {
    int lane = threadIdx.x;
    Pair p = combine(a[lane], b[lane], (short)(lane * 100));
    quotient[lane] = p.quotient;
    product[lane] = p.product;
    ratio[lane] = p.ratio;
    int sum = lane;
    if (lane % 3 == 1) accumulate(&sum, a[lane]);
    accumulate(&sum, 1000);
    total[lane] = sum;
}
