// Adds up the neighbours of each pixel of a surface of bytes, with its edge repeated, and writes what it is inverted to
// another one.
extern "C" __global__ void surface_blur(cudaSurfaceObject_t out, cudaSurfaceObject_t in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int red = 0, blue = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            uchar4 pixel = surf2Dread<uchar4>(in, 4 * (x + i), y + j, cudaBoundaryModeClamp);
            red += pixel.x;
            blue += pixel.z;
        }
    surf2Dwrite(make_uchar4(255 - red / 9, x, 255 - blue / 9, y), out, 4 * x, y);
}
