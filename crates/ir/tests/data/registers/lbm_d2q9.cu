// One collision step of the D2Q9 lattice Boltzmann method: nine loads, nine stores, much arithmetic between.
extern "C" __global__ void lbm_d2q9(const float* __restrict__ in, float* __restrict__ out, int cells, float omega) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    const float w[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    float f[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int d = 0; d < 9; ++d) {
        f[d] = in[d * cells + i];
        rho += f[d];
        ux += cx[d] * f[d];
        uy += cy[d] * f[d];
    }
    ux /= rho;
    uy /= rho;
    float uu = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int d = 0; d < 9; ++d) {
        float cu = 3 * (cx[d] * ux + cy[d] * uy);
        out[d * cells + i] = f[d] + omega * (w[d] * rho * (1 + cu + 0.5f * cu * cu - uu) - f[d]);
    }
}
