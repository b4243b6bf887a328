/* The driver API: PTX linked while the program runs, libraries, registered memory, occupancy, and what is refused. */
#include "check.h"

typedef unsigned long long Address;
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuCtxSynchronize(void);
int cuCtxGetId(void *, unsigned long long *);
int cuLinkCreate_v2(unsigned, int *, void **, void **);
int cuLinkAddData_v2(void *, int, void *, size_t, const char *, unsigned, int *, void **);
int cuLinkAddFile_v2(void *, int, const char *, unsigned, int *, void **);
int cuLinkComplete(void *, void **, size_t *);
int cuLinkDestroy(void *);
int cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **);
int cuLibraryLoadData(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cuLibraryLoadFromFile(void **, const char *, int *, void **, unsigned, int *, void **, unsigned);
int cuLibraryGetKernelCount(unsigned *, void *);
int cuLibraryEnumerateKernels(void **, unsigned, void *);
int cuLibraryUnload(void *);
int cuKernelGetName(const char **, void *);
int cuKernelGetLibrary(void **, void *);
int cuKernelGetParamInfo(void *, size_t, size_t *, size_t *);
int cuFuncGetName(const char **, void *);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemHostGetDevicePointer_v2(Address *, void *, unsigned);
int cuMemAlloc_v2(Address *, size_t);
int cuMemFree_v2(Address);
int cuMemcpyDtoH_v2(void *, Address, size_t);
int cuMemsetD2D8_v2(Address, size_t, unsigned char, size_t, size_t);
int cuMemsetD8_v2(Address, unsigned char, size_t);
int cuPointerGetAttribute(void *, int, Address);
int cuPointerGetAttributes(unsigned, int *, void **, Address);
int cuOccupancyMaxPotentialBlockSize(int *, int *, void *, size_t (*)(int), size_t, int);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, void *, int, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static const char TWICE[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .func (.param .b32 r) twice(.param .b32 a)\n"
    "{ .reg .b32 %r<2>; ld.param.u32 %r0, [a]; add.u32 %r1, %r0, %r0; st.param.u32 [r], %r1; ret; }\n";
static const char CALLS[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
    ".visible .entry all(.param .u64 data, .param .u32 n)\n"
    "{ .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd0, [data]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, %r0; @%p ret;\n"
    "mul.wide.u32 %rd1, %r1, 4; add.u64 %rd2, %rd0, %rd1; ld.global.u32 %r2, [%rd2];\n"
    "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; call.uni (r), twice, (a); ld.param.b32 %r3, [r]; }\n"
    "st.global.u32 [%rd2], %r3; ret; }\n";

static size_t shared_of(int threads) { return 256 * (size_t)threads; }

int main(void) {
    enum { N = 100 };
    void *context, *linker, *image, *library, *module, *kernel, *other, *nothing = (void *)0x1234;
    char info[64] = "x", error[256] = "x";
    int options[] = {3, 4, 5, 6}, grid, block, resident;
    void *values[] = {info, (void *)sizeof info, error, (void *)sizeof error};
    size_t bytes, offset, size;
    unsigned count, data[N], n = N;
    unsigned long long id;
    const char *name;
    Address device, memory;

    CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
    CHECK(cuCtxGetId(NULL, &id) == 0 && cuCtxGetId(nothing, &id) == 201);

    /* What is wrong is in the log. */
    CHECK(cuLinkCreate_v2(4, options, values, &linker) == 0);
    CHECK(cuLinkAddData_v2(linker, 1, "nonsense", 9, "part", 0, NULL, NULL) == 218);
    CHECK(strstr(error, "part") && (unsigned)(size_t)values[3] == strlen(error) && info[0] == 0);
    CHECK(cuLinkAddData_v2(linker, 1, (void *)CALLS, sizeof CALLS, NULL, 0, NULL, NULL) == 0 && error[0] == 0);
    CHECK(cuLinkComplete(linker, &image, &bytes) == 218 && strstr(error, "twice"));
    CHECK(cuLinkAddData_v2(linker, 1, (void *)TWICE, sizeof TWICE - 1, "twice", 0, NULL, NULL) == 0);
    CHECK(cuLinkAddFile_v2(linker, 1, "/nothing", 0, NULL, NULL) == 301);
    CHECK(cuLinkAddData_v2(linker, 4, (void *)TWICE, sizeof TWICE, "archive", 0, NULL, NULL) == 209);
    CHECK(cuLinkComplete(linker, &image, &bytes) == 0 && bytes > sizeof CALLS);
    CHECK(cuLinkAddData_v2(nothing, 1, (void *)TWICE, sizeof TWICE, NULL, 0, NULL, NULL) == 400);

    CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0) == 0);
    CHECK(cuLinkDestroy(linker) == 0 && cuLinkDestroy(linker) == 400);
    CHECK(cuLibraryLoadFromFile(&other, "/nothing", NULL, NULL, 0, NULL, NULL, 0) == 301);
    CHECK(cuLibraryGetKernelCount(&count, library) == 0 && count == 1);
    CHECK(cuLibraryEnumerateKernels(&kernel, 1, library) == 0);
    CHECK(cuKernelGetName(&name, kernel) == 0 && strcmp(name, "all") == 0 && cuFuncGetName(&name, nothing) == 400);
    CHECK(cuKernelGetLibrary(&other, kernel) == 0 && other == library);
    CHECK(cuKernelGetParamInfo(kernel, 1, &offset, &size) == 0 && offset == 8 && size == 4);
    CHECK(cuKernelGetParamInfo(kernel, 2, &offset, &size) == 1);
    values[1] = (void *)sizeof info;
    values[3] = (void *)sizeof error;
    CHECK(cuModuleLoadDataEx(&module, "nonsense", 4, options, values) == 218 && error[0] != 0);

    /* The device looks at memory of the host. */
    for (unsigned i = 0; i < N; i++) data[i] = i;
    CHECK(cuMemHostUnregister(data) == 713);
    CHECK(cuMemHostRegister_v2(data, sizeof data, 2) == 0 && cuMemHostRegister_v2(data + 1, 4, 2) == 712);
    CHECK(cuMemHostGetDevicePointer_v2(&device, data, 0) == 0 && device != 0);
    void *arguments[] = {&device, &n};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL) == 0 && cuCtxSynchronize() == 0);
    for (unsigned i = 0; i < N; i++) CHECK(data[i] == 2 * i);
    CHECK(cuMemsetD8_v2(device, 0, 4 * 3) == 0 && data[2] == 0 && data[3] == 6);
    CHECK(cuPointerGetAttribute(&count, 2, device) == 0 && count == 1);
    CHECK(cuMemFree_v2(device) == 1);
    CHECK(cuMemHostUnregister(data) == 0 && cuMemHostGetDevicePointer_v2(&device, data, 0) == 1);

    unsigned char rows[4][8];
    CHECK(cuMemAlloc_v2(&memory, sizeof rows) == 0 && cuMemsetD8_v2(memory, 1, sizeof rows) == 0);
    CHECK(cuMemsetD2D8_v2(memory, 8, 9, 3, 4) == 0);
    CHECK(cuMemcpyDtoH_v2(rows, memory, sizeof rows) == 0 && rows[3][2] == 9 && rows[3][3] == 1);
    int wanted[] = {2, 8, 11};
    unsigned kind = 7;
    unsigned char managed = 7;
    Address base = 7;
    void *answers[] = {&kind, &managed, &base};
    CHECK(cuPointerGetAttributes(3, wanted, answers, memory + 5) == 0);
    CHECK(kind == 2 && managed == 0 && base == memory);
    CHECK(cuPointerGetAttributes(3, wanted, answers, 64) == 0 && kind == 0 && base == 0);

    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, NULL, 0, 0) == 0 && grid > 0 && block == 1024);
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, shared_of, 0, 0) == 0 && block > 0 && block < 1024);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, block, shared_of(block)) == 0 && resident > 0);
    CHECK(cuLibraryUnload(library) == 0 && cuLibraryUnload(library) == 400);
    puts("passed");
    return 0;
}
