// The Black-Scholes formula with one more access to memory per equation: to each of its seven results a value is added
// that is read from an array of its own. The added values are what makes the kernel less bound by computation than
// black_scholes; prices of options they are not.

// Cumulative normal distribution, polynomial approximation 26.2.17 of Abramowitz and Stegun (error below 7.5e-8).
__device__ float cumulative_normal(float d) {
    const float a1 = 0.31938153f;
    const float a2 = -0.356563782f;
    const float a3 = 1.781477937f;
    const float a4 = -1.821255978f;
    const float a5 = 1.330274429f;
    const float inverse_sqrt_2pi = 0.39894228f;

    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial = k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5))));
    float tail = inverse_sqrt_2pi * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes_7(const float* price, const float* strike, const float* years,
                                           const float* added, float* call, float* put, float rate, float volatility,
                                           int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float s = price[i];
    float x = strike[i];
    float t = years[i];

    float sqrt_t = sqrtf(t) + added[i];
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * sqrt_t) + added[n + i];
    float d2 = d1 - volatility * sqrt_t + added[2 * n + i];
    float cnd1 = cumulative_normal(d1) + added[3 * n + i];
    float cnd2 = cumulative_normal(d2) + added[4 * n + i];

    float discounted = x * expf(-rate * t);
    call[i] = s * cnd1 - discounted * cnd2 + added[5 * n + i];
    put[i] = discounted * (1.0f - cnd2) - s * (1.0f - cnd1) + added[6 * n + i];
}
