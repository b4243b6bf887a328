// One Jacobi sweep in double precision on a 3-D grid, 7 points.
extern "C" __global__ void jacobi_double(const double* in, const double* rhs, double* out, int nx, int ny, int nz, double h2) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    int i = (z * ny + y) * nx + x;
    out[i] = (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny] - h2 * rhs[i]) / 6.0;
}
