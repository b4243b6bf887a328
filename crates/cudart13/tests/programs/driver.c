/* The driver API: a module from text, memory, a launch, times, and what is refused. */
#include "check.h"

typedef unsigned long long Address;
int cuInit(unsigned);
int cuDeviceGetCount(int *);
int cuDeviceGet(int *, int);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleGetGlobal_v2(Address *, size_t *, void *, const char *);
int cuModuleUnload(void *);
int cuMemAlloc_v2(Address *, size_t);
int cuMemFree_v2(Address);
int cuMemcpyHtoD_v2(Address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, Address, size_t);
int cuMemsetD32_v2(Address, unsigned, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
int cuStreamDestroy_v2(void *);
int cuEventCreate(void **, unsigned);
int cuEventRecord(void *, void *);
int cuEventSynchronize(void *);
int cuEventElapsedTime(float *, void *, void *);
int cuGetErrorName(int, const char **);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
int cuGetExportTable(const void **, const void *);
int cuDeviceGetNvSciSyncAttributes(void *, int, int);

int main(void) {
    enum { N = 1000 };
    int count, device, value;
    char name[64];
    void *context, *module, *kernel, *stream, *start, *end, *nothing = (void *)0x1234;
    Address data, offset;
    size_t size;
    float values[N], milliseconds = -1, factor = 3, seven = 7;
    unsigned n = N;

    CHECK(cuDeviceGetCount(&count) == 3); /* not initialised */
    CHECK(cuInit(0) == 0 && cuDeviceGetCount(&count) == 0 && count == 1);
    CHECK(cuDeviceGet(&device, 1) == 101 && cuDeviceGet(&device, 0) == 0);
    CHECK(cuDeviceGetName(name, sizeof name, device) == 0 && strstr(name, "A100"));
    CHECK(cuDeviceGetAttribute(&value, 75, device) == 0 && value == 8);
    CHECK(cuDeviceGetAttribute(&value, -5, device) == 1);
    CHECK(cuMemAlloc_v2(&data, 4) == 201); /* no context */
    CHECK(cuCtxCreate_v2(&context, 0, device) == 0);

    CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\nnonsense") == 218);
    CHECK(cuModuleLoadData(&module, PTX) == 0);
    CHECK(cuModuleGetFunction(&kernel, module, "none") == 500);
    CHECK(cuModuleGetFunction(&kernel, nothing, "scale") == 400);
    CHECK(cuModuleGetFunction(&kernel, module, "scale") == 0);
    CHECK(cuModuleGetGlobal_v2(&offset, &size, module, "offset") == 0 && size == 4);
    CHECK(cuMemcpyHtoD_v2(offset, &seven, 4) == 0);

    CHECK(cuMemAlloc_v2(&data, 0) == 1);
    CHECK(cuMemAlloc_v2(&data, N * sizeof(float)) == 0);
    for (int i = 0; i < N; i++) values[i] = (float)i;
    CHECK(cuMemcpyHtoD_v2(data, values, sizeof values) == 0);
    CHECK(cuMemcpyHtoD_v2(data, values, sizeof values + 1) == 1);
    CHECK(cuMemcpyHtoD_v2(0x1000, values, 4) == 1);

    CHECK(cuStreamCreate(&stream, 0) == 0);
    CHECK(cuEventCreate(&start, 0) == 0 && cuEventCreate(&end, 0) == 0);
    CHECK(cuEventElapsedTime(&milliseconds, start, end) == 400); /* not recorded */
    void *arguments[] = {&data, &factor, &n};
    CHECK(cuEventRecord(start, stream) == 0);
    CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, arguments, NULL) == 0);
    CHECK(cuEventRecord(end, stream) == 0 && cuEventSynchronize(end) == 0);
    CHECK(cuEventElapsedTime(&milliseconds, start, end) == 0 && milliseconds > 0.0001 && milliseconds < 1);
    CHECK(cuStreamSynchronize(stream) == 0);
    CHECK(cuMemcpyDtoH_v2(values, data, sizeof values) == 0);
    for (int i = 0; i < N; i++) CHECK(values[i] == 3.0f * i + 7);

    /* Parameters side by side. */
    struct { Address data; float factor; unsigned n; } packed = {data, 0, 2};
    size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, extra) == 0);
    CHECK(cuMemcpyDtoH_v2(values, data, 3 * sizeof(float)) == 0);
    CHECK(values[0] == 7 && values[1] == 7 && values[2] == 13);
    CHECK(cuMemsetD32_v2(data, 0x40000000, N) == 0 && cuMemcpyDtoH_v2(values, data, sizeof values) == 0);
    CHECK(values[0] == 2 && values[N - 1] == 2);

    /* What no GPU launches, and handles that stand for nothing. */
    CHECK(cuLaunchKernel(kernel, 0, 1, 1, 32, 1, 1, 0, stream, arguments, NULL) == 1);
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, stream, arguments, NULL) == 1);
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 1 << 20, stream, arguments, NULL) == 1);
    CHECK(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL) == 400);
    CHECK(cuStreamDestroy_v2(stream) == 0 && cuStreamDestroy_v2(stream) == 400);
    CHECK(cuStreamSynchronize(stream) == 400 && cuEventSynchronize(stream) == 400);
    CHECK(cuMemFree_v2(data + 4) == 1 && cuMemFree_v2(data) == 0 && cuMemFree_v2(data) == 1);
    CHECK(cuMemcpyDtoH_v2(values, data, 4) == 1);

    const char *text;
    CHECK(cuGetErrorName(700, &text) == 0 && strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    CHECK(cuGetErrorName(-7, &text) == 1 && text == NULL);
    void *function;
    int found;
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &found) == 0 && found == 0);
    CHECK(function == (void *)cuMemAlloc_v2);
    CHECK(cuGetProcAddress_v2("cuNothing", &function, 13000, 0, &found) == 500 && found == 1 && !function);
    CHECK(cuGetExportTable((const void **)&function, name) == 801);
    CHECK(cuDeviceGetNvSciSyncAttributes(name, 0, 1) == 801 && cuDeviceGetNvSciSyncAttributes(name, 0, 1) == 801);

    CHECK(cuModuleUnload(module) == 0 && cuModuleUnload(module) == 400);
    CHECK(cuCtxSynchronize() == 0 && cuCtxDestroy_v2(context) == 0 && cuCtxSynchronize() == 201);
    printf("passed\n");
    return 0;
}
