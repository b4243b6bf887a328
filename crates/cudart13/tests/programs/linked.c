/* Device code in two parts: as nvcc -rdc=true leaves it in a program, and as cuLinkAddData takes it. Also pools, registered
   memory and loaded libraries. */
#include "container.h"

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuLinkCreate_v2(unsigned, void *, void *, void **);
int cuLinkAddData_v2(void *, int, const void *, size_t, const char *, unsigned, void *, void *);
int cuLinkComplete(void *, void **, size_t *);
int cuLinkDestroy(void *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cudaLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cudaLibraryGetKernel(void **, void *, const char *);
int cudaLibraryUnload(void *);
int cudaFuncGetName(const char **, const void *);
int cudaMalloc(void *, size_t);
int cudaMallocAsync(void *, size_t, void *);
int cudaMallocFromPoolAsync(void *, size_t, void *, void *);
int cudaFreeAsync(void *, void *);
int cudaDeviceGetDefaultMemPool(void **, int);
int cudaMemPoolCreate(void **, const void *);
int cudaMemPoolDestroy(void *);
int cudaMemPoolGetAttribute(void *, int, void *);
int cudaMemPoolSetAttribute(void *, int, void *);
int cudaMemPoolTrimTo(void *, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void *, void *, unsigned);
int cudaPointerGetAttributes(void *, const void *);
int cudaDeviceEnablePeerAccess(int, unsigned);
int cudaDeviceDisablePeerAccess(int);

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
static const char CALLER[] = HEADER
    ".extern .func (.param .b32 result) twice(.param .b32 value);\n"
    ".extern .global .align 4 .u32 added;\n"
    ".visible .entry k(.param .u64 data) {\n"
    "  .reg .b32 %r<5>; .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  ld.global.u32 %r2, [%rd3];\n"
    "  { .param .b32 value; .param .b32 result; st.param.b32 [value], %r2; call.uni (result), twice, (value); ld.param.b32 %r3, [result]; }\n"
    "  ld.global.u32 %r4, [added]; add.u32 %r3, %r3, %r4; st.global.u32 [%rd3], %r3; ret;\n}\n";
static const char CALLEE[] = HEADER
    ".visible .global .align 4 .u32 added = 7;\n"
    ".visible .func (.param .b32 result) twice(.param .b32 value) {\n"
    "  .reg .b32 %r<3>; ld.param.b32 %r1, [value]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;\n}\n";

static Container whole, parts[3];
static void *prelinked[] = {&parts[0], &parts[1], &parts[2], NULL};
static Wrapper wrapper = {0x466243b1, 2, &whole, prelinked};
static void stub(void) {}

int main(void) {
    int values[4] = {1, 2, 3, 4}, *data, *mapped;
    dim3 one = {1, 1, 1}, four = {4, 1, 1};
    void *arguments[] = {&data}, *context, *link, *image, *module, *kernel, *library, *pool;
    size_t bytes;
    uint64_t value = 1 << 20;
    const char *name;

    /* The whole has no PTX, the last part is a library of machine code. */
    fill(&whole, NO_CODE, 80, NULL, 0), fill(&parts[0], PTX_CODE, 80, CALLER, sizeof CALLER);
    fill(&parts[1], PTX_CODE, 80, CALLEE, sizeof CALLEE), fill(&parts[2], MACHINE_CODE, 80, "code", sizeof "code");
    register_kernel(&wrapper, (void *)stub, "k");
    CHECK(cudaMalloc(&data, sizeof values) == 0 && cudaMemcpy(data, values, sizeof values, 1) == 0);
    CHECK(cudaLaunchKernel((void *)stub, one, four, arguments, 0, NULL) == 0);
    CHECK(cudaMemcpy(values, data, sizeof values, 2) == 0 && values[0] == 9 && values[3] == 15);
    CHECK(cudaFuncGetName(&name, (void *)stub) == 0 && strcmp(name, "k") == 0);

    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0);
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &link) == 0);
    CHECK(cuLinkAddData_v2(link, 1, CALLER, sizeof CALLER, "a", 0, NULL, NULL) == 0);
    CHECK(cuLinkComplete(link, &image, &bytes) == 218); /* what it calls is missing */
    CHECK(cuLinkAddData_v2(link, 1, CALLEE, sizeof CALLEE, "b", 0, NULL, NULL) == 0);
    CHECK(cuLinkComplete(link, &image, &bytes) == 0 && cuModuleLoadData(&module, image) == 0);
    CHECK(cuLinkDestroy(link) == 0 && cuLinkDestroy(link) == 400);
    CHECK(cuModuleGetFunction(&kernel, module, "k") == 0);
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cudaMemcpy(values, data, sizeof values, 2) == 0 && values[0] == 25);

    CHECK(cudaLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0) == 0);
    CHECK(cudaLibraryGetKernel(&kernel, library, "none") == 500 && cudaLibraryGetKernel(&kernel, library, "scale") == 0);
    CHECK(cudaLibraryUnload(library) == 0 && cudaLibraryUnload(library) == 400);

    /* Memory of the host, which the device has elsewhere. */
    int own[4] = {1, 1, 1, 1};
    struct { int kind, device; void *on_device, *on_host; long rest[8]; } pointer;
    CHECK(cudaHostRegister(own, sizeof own, 2) == 0 && cudaHostRegister(own, sizeof own, 2) == 712);
    CHECK(cudaHostGetDevicePointer(&mapped, own + 1, 0) == 0 && cudaPointerGetAttributes(&pointer, own + 1) == 0);
    CHECK(pointer.kind == 1 && pointer.on_device == mapped && pointer.on_host == own + 1);
    void *of_host[] = {&mapped};
    CHECK(cudaLaunchKernel((void *)stub, one, (dim3){3, 1, 1}, of_host, 0, NULL) == 0 && own[0] == 1 && own[1] == 9);
    CHECK(cudaMemcpy(values, mapped, 4, 4) == 0 && values[0] == 9 && cudaMemcpy(values, mapped, 16, 4) == 1);
    CHECK(cudaHostUnregister(own) == 0 && cudaHostUnregister(own) == 713);

    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0) == 0 && cudaMemPoolSetAttribute(pool, 4, &value) == 0);
    CHECK(cudaMallocAsync(&data, 100, NULL) == 0 && cudaMemPoolGetAttribute(pool, 7, &value) == 0 && value == 100);
    CHECK(cudaFreeAsync(data, NULL) == 0 && cudaMemPoolGetAttribute(pool, 7, &value) == 0 && value == 0);
    CHECK(cudaMemPoolTrimTo(pool, 0) == 0 && cudaMemPoolDestroy(pool) == 1);
    int properties[22] = {1, 0, 1, 0};
    CHECK(cudaMemPoolCreate(&pool, properties) == 0 && cudaMallocFromPoolAsync(&data, 100, pool, NULL) == 0);
    CHECK(cudaMemPoolDestroy(pool) == 0 && cudaMallocFromPoolAsync(&data, 100, pool, NULL) == 1 && cudaFreeAsync(data, NULL) == 0);
    CHECK(cudaDeviceEnablePeerAccess(0, 0) == 101 && cudaDeviceDisablePeerAccess(0) == 705);
    printf("passed\n");
    return 0;
}
