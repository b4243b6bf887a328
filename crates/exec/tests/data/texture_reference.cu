// A texture reference, as programs before CUDA 12 have it: bytes that are read as floats between 0 and 1, and integers of
// linear memory.
texture<unsigned char, 2, cudaReadModeNormalizedFloat> image;
texture<int, 1, cudaReadModeElementType> table;

extern "C" __global__ void texture_reference(float* out, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    out[y * width + x] = 255 * tex2D(image, x + 0.75f, y + 0.5f) + 1000 * tex1Dfetch(table, x * y);
}
