// Five-point stencil on a row-major grid, borders left alone.
extern "C" __global__ void stencil_2d(const float* in, float* out, int width, int height, float centre, float side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x <= 0 || y <= 0 || x >= width - 1 || y >= height - 1) return;
    int i = y * width + x;
    out[i] = centre * in[i] + side * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
