// Makes a colour picture look aged: each new channel is a weighted sum of the three old ones, at most full.
//
// One thread per pixel, three interleaved channels: a stride of 12 bytes between threads, three loads and three stores.

__device__ float mix(float r, float g, float b, float of_r, float of_g, float of_b) {
    return fminf(fmaf(of_b, b, fmaf(of_g, g, __fmul_rn(of_r, r))), 255.0f);
}

extern "C" __global__ void sepia(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    int pixel = 3 * (y * width + x);
    float r = in[pixel];
    float g = in[pixel + 1];
    float b = in[pixel + 2];
    out[pixel] = mix(r, g, b, 0.393f, 0.769f, 0.189f);
    out[pixel + 1] = mix(r, g, b, 0.349f, 0.686f, 0.168f);
    out[pixel + 2] = mix(r, g, b, 0.272f, 0.534f, 0.131f);
}
