// Stencils on regular grids in single precision. Grids are multiples of the blocks; cells at the rim keep their values.

// Five points in the plane, straight from global memory.
extern "C" __global__ void stencil_plane(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int at = y * width + x;
    if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1) {
        out[at] = in[at];
        return;
    }
    out[at] = 0.5f * in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

// Nine points in the plane, through a tile with its rim in shared memory.
extern "C" __global__ void stencil_tile(const float* in, float* out, int width, int height) {
    constexpr int WIDE = 32, HIGH = 8;
    __shared__ float tile[HIGH + 2][WIDE + 2];
    int left = blockIdx.x * WIDE - 1, top = blockIdx.y * HIGH - 1;
    for (int i = threadIdx.y * WIDE + threadIdx.x; i < (HIGH + 2) * (WIDE + 2); i += WIDE * HIGH) {
        int x = min(max(left + i % (WIDE + 2), 0), width - 1), y = min(max(top + i / (WIDE + 2), 0), height - 1);
        tile[i / (WIDE + 2)][i % (WIDE + 2)] = in[y * width + x];
    }
    __syncthreads();
    int x = blockIdx.x * WIDE + threadIdx.x, y = blockIdx.y * HIGH + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    float next = tile[ty][tx];
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        float sides = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        float corners = tile[ty - 1][tx - 1] + tile[ty - 1][tx + 1] + tile[ty + 1][tx - 1] + tile[ty + 1][tx + 1];
        next = 0.25f * next + 0.125f * sides + 0.0625f * corners;
    }
    out[y * width + x] = next;
}

// Seven points in space, a thread per cell.
extern "C" __global__ void stencil_space(const float* in, float* out, int nx, int ny, int nz, float centre,
                                         float around) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    int plane = nx * ny, at = z * plane + y * nx + x;
    if (x == 0 || y == 0 || z == 0 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) {
        out[at] = in[at];
        return;
    }
    float sum = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - plane] + in[at + plane];
    out[at] = centre * in[at] + around * sum;
}

// The same, each thread going through all planes: the cells below and above stay in registers, those around in shared
// memory.
extern "C" __global__ void stencil_planes(const float* in, float* out, int nx, int ny, int nz, float centre,
                                          float around) {
    constexpr int WIDE = 32, HIGH = 8;
    __shared__ float tile[HIGH][WIDE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * WIDE + tx, y = blockIdx.y * HIGH + ty;
    int plane = nx * ny, at = y * nx + x;
    bool rim = x == 0 || y == 0 || x == nx - 1 || y == ny - 1;
    float below = in[at], here = in[at + plane];
    out[at] = below;
    for (int z = 1; z < nz - 1; ++z) {
        at += plane;
        float above = in[at + plane], next = here;
        tile[ty][tx] = here;
        __syncthreads();
        if (!rim) {
            float west = tx > 0 ? tile[ty][tx - 1] : in[at - 1], east = tx < WIDE - 1 ? tile[ty][tx + 1] : in[at + 1];
            float north = ty > 0 ? tile[ty - 1][tx] : in[at - nx];
            float south = ty < HIGH - 1 ? tile[ty + 1][tx] : in[at + nx];
            next = centre * here + around * (west + east + north + south + below + above);
        }
        out[at] = next;
        __syncthreads();
        below = here;
        here = above;
    }
    out[at + plane] = here;
}

// A time step of a fluid on a plane by the lattice Boltzmann method with nine directions: densities come from the
// neighbours (the plane is periodic) and relax towards equilibrium. Each direction has an array of its own.
extern "C" __global__ void lattice_boltzmann(const float* in, float* out, int width, int height, float rate) {
    constexpr int DX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, DY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    constexpr float WEIGHT[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                                 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int cells = width * height;
    float f[9], density = 0.0f, ux = 0.0f, uy = 0.0f;
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        int from_x = x - DX[i], from_y = y - DY[i];
        from_x = from_x < 0 ? width - 1 : from_x >= width ? 0 : from_x;
        from_y = from_y < 0 ? height - 1 : from_y >= height ? 0 : from_y;
        f[i] = in[i * cells + from_y * width + from_x];
        density += f[i];
        ux += DX[i] * f[i];
        uy += DY[i] * f[i];
    }
    ux /= density;
    uy /= density;
    float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        float along = 3.0f * (DX[i] * ux + DY[i] * uy);
        float equilibrium = WEIGHT[i] * density * (1.0f + along + 0.5f * along * along - square);
        out[i * cells + y * width + x] = f[i] + rate * (equilibrium - f[i]);
    }
}

// A generation of Conway's game of life on a periodic plane, a byte per cell.
extern "C" __global__ void life_bytes(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int west = x > 0 ? x - 1 : width - 1, east = x < width - 1 ? x + 1 : 0;
    const unsigned char* above = in + (y > 0 ? y - 1 : height - 1) * width;
    const unsigned char* row = in + y * width;
    const unsigned char* below = in + (y < height - 1 ? y + 1 : 0) * width;
    int alive = above[west] + above[x] + above[east] + row[west] + row[east] + below[west] + below[x] + below[east];
    out[y * width + x] = alive == 3 || (alive == 2 && row[x]);
}
