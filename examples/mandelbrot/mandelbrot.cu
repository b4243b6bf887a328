// steps[y][x] = iterations of z = z^2 + c before |z| > 2, at most max_steps, one thread per pixel.
//
// Neighbouring pixels leave the loop after different numbers of steps, so at the rim of the set only few threads of a
// warp stay active: the classic case of branch divergence without any memory traffic inside the loop.
// Every rounding is written out, so that the counts do not depend on which products the compiler fuses.

extern "C" __global__ void mandelbrot(unsigned int* steps, int width, int height, float left, float top, float pixel,
                                      int max_steps) {
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) {
        return;
    }
    float cx = fmaf((float)px, pixel, left);
    float cy = fmaf((float)py, -pixel, top);

    float x = 0.0f;
    float y = 0.0f;
    int step = 0;
    while (step < max_steps) {
        float yy = __fmul_rn(y, y);
        if (fmaf(x, x, yy) > 4.0f) {
            break;
        }
        float next = __fadd_rn(fmaf(x, x, -yy), cx);
        y = fmaf(__fmul_rn(2.0f, x), y, cy);
        x = next;
        ++step;
    }
    steps[py * width + px] = step;
}
