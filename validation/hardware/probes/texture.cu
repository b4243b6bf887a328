// What texture units make of coordinates: weights, addresses beyond the image, formats; and surfaces beyond their edge.
#include "probe.cuh"

// Coordinates from two extents before the image to two behind it, in texels, every other one at a multiple of 1/512;
// infinities, NaN, zeros and large ones first. `scale` makes them coordinates of the texture.
__device__ inline float coordinate(uint32_t index, uint32_t axis, float extent, float scale) {
    uint32_t h = mix(index * 4 + axis);
    float x = extent * (float(h >> 8) * 0x5p-24f - 2.0f);
    if (index & 1) x = rintf(x * 512.0f) * 0x1p-9f;
    if ((index & 6) == 6) x = rintf(x) + (h & 1 ? 0.5f : 0.0f);
    if (index < 64 && (index >> 3) % 3 == axis) {
        uint32_t bits[8] = {0x7f800000, 0xff800000, 0x7fc00000, 0x80000000,
                            0x7f7fffff, 0xcf000000, 0x00000001, 0x4b800001};
        return __uint_as_float(bits[index & 7]);
    }
    return x * scale;
}

__device__ inline void store(uint32_t* out, float4 texel) {
    uint32_t words[4] = {__float_as_uint(texel.x), __float_as_uint(texel.y), __float_as_uint(texel.z),
                         __float_as_uint(texel.w)};
    store(out, words);
}

#define X(extent, scale) coordinate(thread_index(), 0, extent, scale)
#define Y(extent, scale) coordinate(thread_index(), 1, extent, scale)
#define Z(extent, scale) coordinate(thread_index(), 2, extent, scale)

extern "C" __global__ void line(uint32_t* out, cudaTextureObject_t image, float w, float sw) {
    store(out, tex1D<float4>(image, X(w, sw)));
}
extern "C" __global__ void plane(uint32_t* out, cudaTextureObject_t image, float w, float h, float sw, float sh) {
    store(out, tex2D<float4>(image, X(w, sw), Y(h, sh)));
}
extern "C" __global__ void volume(uint32_t* out, cudaTextureObject_t image, float w, float h, float d, float sw,
                                  float sh, float sd) {
    store(out, tex3D<float4>(image, X(w, sw), Y(h, sh), Z(d, sd)));
}
// The four texels that a linear filter would mix, one component of each.
extern "C" __global__ void gather(uint32_t* out, cudaTextureObject_t image, float w, float h, float sw, float sh) {
    store(out, tex2Dgather<float4>(image, X(w, sw), Y(h, sh), 0));
}
extern "C" __global__ void layers(uint32_t* out, cudaTextureObject_t image, float w, float h, float sw, float sh) {
    store(out, tex2DLayered<float4>(image, X(w, sw), Y(h, sh), int(mix(thread_index() + 9) & 7) - 2));
}
// A direction, the longest component of which chooses the face.
extern "C" __global__ void cube(uint32_t* out, cudaTextureObject_t image) {
    store(out, texCubemap<float4>(image, X(0.4f, 1), Y(0.4f, 1), Z(0.4f, 1)));
}
// Levels from one before the first to one behind the last.
extern "C" __global__ void levels(uint32_t* out, cudaTextureObject_t image, float w, float h, float sw, float sh) {
    float level = float(mix(thread_index() + 9) & 0xffff) * 0x6p-16f - 1.0f;
    store(out, tex2DLod<float4>(image, X(w, sw), Y(h, sh), level));
}
// Coordinates of whole texels in linear memory, also outside.
extern "C" __global__ void linear(uint32_t* out, cudaTextureObject_t image, int w) {
    store(out, tex1Dfetch<float4>(image, int(mix(thread_index()) % (3 * w)) - w));
}

// Loads beyond the edges, clamped and zero.
extern "C" __global__ void surface(uint32_t* out, cudaSurfaceObject_t image, int w, int h) {
    int x = int(mix(thread_index()) % (3 * w)) - w, y = int(mix(thread_index() + 7) % (3 * h)) - h;
    uint32_t words[2];
    asm volatile("suld.b.2d.b32.clamp %0, [%1, {%2, %3}];" : "=r"(words[0]) : "l"(image), "r"(4 * x), "r"(y));
    asm volatile("suld.b.2d.b32.zero %0, [%1, {%2, %3}];" : "=r"(words[1]) : "l"(image), "r"(4 * x), "r"(y));
    store(out, words);
}
// Each thread stores to its own row, beyond its ends as well.
extern "C" __global__ void surface_stores(cudaSurfaceObject_t image, int w) {
    int y = thread_index();
    for (int x = -2; x < w + 2; x += 3)
        asm volatile("sust.b.2d.b32.zero [%0, {%1, %2}], %3;" ::"l"(image), "r"(4 * x), "r"(y), "r"(mix(y)) : "memory");
    asm volatile("sust.b.2d.b32.clamp [%0, {%1, %2}], %3;" ::"l"(image), "r"(4 * w + 8), "r"(y), "r"(y) : "memory");
}
