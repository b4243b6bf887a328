// 25-point star stencil (radius 4) that walks along z with the column kept in registers.
constexpr int R = 4;
extern "C" __global__ void stencil_3d(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                                      const float* __restrict__ weight) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + R;
    int y = blockIdx.y * blockDim.y + threadIdx.y + R;
    if (x >= nx - R || y >= ny - R) return;
    int plane = nx * ny;
    int at = y * nx + x;
    float column[2 * R + 1];
#pragma unroll
    for (int i = 0; i < 2 * R; ++i) column[i + 1] = in[at + i * plane];
    for (int z = R; z < nz - R; ++z) {
#pragma unroll
        for (int i = 0; i < 2 * R; ++i) column[i] = column[i + 1];
        column[2 * R] = in[at + (z + R) * plane];
        int i = at + z * plane;
        float sum = weight[0] * column[R];
#pragma unroll
        for (int r = 1; r <= R; ++r) {
            sum += weight[r] * (column[R - r] + column[R + r] + in[i - r] + in[i + r] + in[i - r * nx] + in[i + r * nx]);
        }
        out[i] = sum;
    }
}
