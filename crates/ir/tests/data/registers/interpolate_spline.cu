// Natural cubic spline evaluation with a binary search for the interval.
extern "C" __global__ void interpolate_spline(const float* knot, const float4* coefficient, int knots, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float at = x[i];
    int lo = 0, hi = knots - 1;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (knot[mid] <= at) lo = mid; else hi = mid;
    }
    float4 c = coefficient[lo];
    float t = at - knot[lo];
    y[i] = c.x + t * (c.y + t * (c.z + t * c.w));
}
