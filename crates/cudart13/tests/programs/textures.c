/* Arrays, textures and surfaces in both interfaces, and copies of boxes. */
#include "check.h"
#include <stdint.h>

typedef unsigned long long Address;
int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuArrayCreate_v2(void **, const void *);
int cuArray3DCreate_v2(void **, const void *);
int cuArray3DGetDescriptor_v2(void *, void *);
int cuArrayDestroy(void *);
int cuMemcpy2D_v2(const void *);
int cuMemcpy3D_v2(const void *);
int cuMemcpyAtoH_v2(void *, void *, size_t, size_t);
int cuTexObjectCreate(Address *, const void *, const void *, const void *);
int cuTexObjectDestroy(Address);
int cudaMalloc(void *, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaGetLastError(void);
typedef struct { int x, y, z, w, kind; } Channels;
typedef struct { size_t width, height, depth; } Extent;
int cudaMallocArray(void **, const Channels *, size_t, size_t, unsigned);
int cudaMalloc3DArray(void **, const Channels *, Extent, unsigned);
int cudaArrayGetInfo(Channels *, Extent *, unsigned *, void *);
int cudaFreeArray(void *);
int cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy2DFromArray(void *, size_t, const void *, size_t, size_t, size_t, size_t, int);
int cudaMemcpy3D(const void *);
int cudaCreateTextureObject(Address *, const void *, const void *, const void *);
int cudaDestroyTextureObject(Address);
int cudaGetTextureObjectTextureDesc(void *, Address);
int cudaCreateSurfaceObject(Address *, const void *);
int cudaDestroySurfaceObject(Address);

/* Fetches (x + 1, y + 0.5) of a plane for thread x of block y; adds 100 to a surface; fetches x of linear memory. */
static const char KERNELS[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry plane(.param .u64 out, .param .u64 object) {\n"
    "  .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .f32 %f<9>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [object];\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
    "  cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F800000; cvt.rn.f32.u32 %f2, %r2; add.f32 %f2, %f2, 0f3F000000;\n"
    "  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd2, {%f1, %f2}];\n"
    "  mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; st.global.f32 [%rd4], %f3; ret;\n}\n"
    ".visible .entry surface(.param .u64 object) {\n"
    "  .reg .b32 %r<5>; .reg .b64 %rd<2>; .reg .f32 %f<2>;\n"
    "  ld.param.u64 %rd1, [object]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 %r2, %ctaid.x;\n"
    "  suld.b.2d.b32.trap {%r3}, [%rd1, {%r1, %r2}]; mov.b32 %f1, %r3; add.f32 %f1, %f1, 0f42C80000; mov.b32 %r3, %f1;\n"
    "  sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3}; ret;\n}\n"
    ".visible .entry line(.param .u64 out, .param .u64 object) {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<5>; .reg .f32 %f<5>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [object]; mov.u32 %r1, %tid.x;\n"
    "  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r1}];\n"
    "  mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; st.global.f32 [%rd4], %f1; ret;\n}\n";

enum { W = 8, H = 4, D = 3 };
static void *module;

static int launch(const char *name, unsigned blocks, void **arguments) {
    void *kernel;
    CHECK(cuModuleGetFunction(&kernel, module, name) == 0);
    return cuLaunchKernel(kernel, blocks, 1, 1, W, 1, 1, 0, NULL, arguments, NULL);
}

int main(void) {
    void *context, *array, *volume;
    float values[D][H][W], read[D][H][W], *out, *linear;
    Address texture, surface;
    for (int i = 0; i < D * H * W; i++) values[0][0][i] = (float)i;
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0 && cuModuleLoadData(&module, KERNELS) == 0);
    CHECK(cudaMalloc(&out, sizeof values) == 0 && cudaMalloc(&linear, W * 4) == 0);
    void *arguments[] = {&out, &texture};

    /* The runtime: an array, a texture with a linear filter, a surface. */
    Channels channels = {32, 0, 0, 0, 2}, three = {8, 8, 8, 0, 1}, told;
    CHECK(cudaMallocArray(&array, &three, W, H, 0) == 20 && cudaMallocArray(&array, &channels, 0, H, 0) == 1);
    CHECK(cudaMallocArray(&array, &channels, W, H, 2) == 0);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values, W * 4, W * 4, H, 1) == 0);
    CHECK(cudaMemcpy2DToArray(array, 4, 0, values, W * 4, W * 4, H, 1) == 1);
    struct { int kind, padding; void *array; char rest[64]; } texels = {0, 0, array, {0}};
    struct { int address[3], filter, read, srgb; float border[4]; int normalized, rest[7]; } sampling = {{1, 1, 1}, 1, 0}, said;
    CHECK(cudaCreateTextureObject(&texture, &texels, &sampling, NULL) == 0);
    CHECK(cudaGetTextureObjectTextureDesc(&said, texture) == 0 && said.filter == 1 && said.address[0] == 1);
    CHECK(launch("plane", H, arguments) == 0 && cudaMemcpy(read, out, sizeof read[0], 2) == 0);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) CHECK(read[0][y][x] == values[0][y][x] + (x < W - 1 ? 0.5f : 0));
    CHECK(cudaDestroyTextureObject(texture) == 0 && cudaDestroyTextureObject(texture) == 1);
    CHECK(cudaCreateSurfaceObject(&surface, &texels) == 0);
    void *of_surface[] = {&surface};
    CHECK(launch("surface", H, of_surface) == 0);
    CHECK(cudaMemcpy2DFromArray(read, W * 4, array, 0, 0, W * 4, H, 2) == 0);
    for (int i = 0; i < H * W; i++) CHECK(read[0][0][i] == i + 100);
    CHECK(cudaDestroySurfaceObject(surface) == 0);

    /* Linear memory. */
    struct { int kind, padding; void *memory; Channels channels; size_t bytes; char rest[64]; } line = {2, 0, linear, channels, W * 4};
    CHECK(cudaMemcpy(linear, values, W * 4, 1) == 0 && cudaCreateTextureObject(&texture, &line, &sampling, NULL) == 0);
    CHECK(launch("line", 1, arguments) == 0 && cudaMemcpy(read, out, W * 4, 2) == 0 && read[0][0][5] == 5);

    /* A volume, of which a box is copied. */
    Extent extent = {W, H, D}, found;
    unsigned flags;
    CHECK(cudaMalloc3DArray(&volume, &channels, extent, 0) == 0 && cudaArrayGetInfo(&told, &found, &flags, volume) == 0);
    CHECK(told.x == 32 && told.kind == 2 && found.depth == D && flags == 0);
    struct { void *memory; size_t pitch, width, height; } nothing = {0}, all = {values, W * 4, W, H}, box = {read, W * 4, W, H};
    typedef struct { void *from_array; Extent from_place; __typeof__(nothing) from; void *to_array; Extent to_place; __typeof__(nothing) to; Extent extent; int kind; } Copy;
    Copy in = {NULL, {0}, all, volume, {0}, nothing, extent, 1}, back = {volume, {1, 2, 1}, nothing, NULL, {4, 1, 0}, box, {3, 2, 2}, 2};
    memset(read, 0, sizeof read);
    CHECK(cudaMemcpy3D(&in) == 0 && cudaMemcpy3D(&back) == 0);
    CHECK(read[0][1][1] == values[1][2][1] && read[1][2][3] == values[2][3][3] && read[0][0][0] == 0);
    back.extent.depth = 3;
    CHECK(cudaMemcpy3D(&back) == 1 && cudaFreeArray(volume) == 0 && cudaFreeArray(volume) == 400 && cudaFreeArray(array) == 0);

    /* The driver. */
    struct { size_t width, height; int format; unsigned channels; } plane = {W, H, 0x20, 1};
    struct { Extent extent; int format; unsigned channels, flags; } solid = {extent, 0x20, 1, 0}, asked;
    CHECK(cuArrayCreate_v2(&array, &plane) == 0 && cuArray3DCreate_v2(&volume, &solid) == 0);
    CHECK(cuArray3DGetDescriptor_v2(&asked, volume) == 0 && asked.extent.depth == D && asked.format == 0x20);
    typedef struct { size_t x, y; int kind; const void *host; Address device; void *array; size_t pitch; } Side;
    struct { Side from, to; size_t width, height; } copy = {{0, 0, 1, values, 0, NULL, W * 4}, {0, 0, 3, NULL, 0, array, 0}, W * 4, H};
    CHECK(cuMemcpy2D_v2(&copy) == 0 && cuMemcpyAtoH_v2(read, array, 4, 8) == 0 && read[0][0][0] == 1 && read[0][0][1] == 2);
    typedef struct { size_t x, y, z, level; int kind; const void *host; Address device; void *array, *reserved; size_t pitch, height; } Side3;
    struct { Side3 from, to; Extent extent; } copy3 = {{0, 0, 0, 0, 1, values, 0, NULL, NULL, W * 4, H}, {0, 0, 0, 0, 3, NULL, 0, volume, NULL, 0, 0}, {W * 4, H, D}};
    CHECK(cuMemcpy3D_v2(&copy3) == 0 && cuMemcpyAtoH_v2(read, volume, 0, sizeof read) == 0 && read[2][3][7] == values[2][3][7]);
    struct { int kind, padding; void *array; char rest[136]; } resource = {0, 0, array, {0}};
    struct { int address[3], filter; unsigned flags, rest[21]; } how = {{1, 1, 1}, 0, 0};
    CHECK(cuTexObjectCreate(&texture, &resource, &how, NULL) == 0 && launch("plane", H, arguments) == 0);
    CHECK(cudaMemcpy(read, out, sizeof read[0], 2) == 0 && read[0][1][2] == values[0][1][3]);
    CHECK(cuTexObjectDestroy(texture) == 0 && cuArrayDestroy(array) == 0 && cuArrayDestroy(array) == 400);
    CHECK(cudaGetLastError() == 400 && cudaGetLastError() == 0);
    printf("passed\n");
    return 0;
}
