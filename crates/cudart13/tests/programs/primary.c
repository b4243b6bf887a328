/* The runtime API makes the context that it shares with the driver current in its thread: no call of `cuInit` is needed, and
   no kernel of the program's own. */
#include "check.h"

int cudaSetDevice(int);
int cudaFree(void *);
int cudaInitDevice(int, unsigned, unsigned);
int cudaDeviceSynchronize(void);
int cudaMemGetInfo(size_t *, size_t *);
int cudaMallocAsync(void **, size_t, void *);
int cudaStreamCreate(void **);
int cudaEventCreate(void **);
int cudaGetDeviceCount(int *);
int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxGetCurrent(void **);
int cuCtxGetDevice(int *);
int cuDevicePrimaryCtxRetain(void **, int);
int cuLinkCreate_v2(unsigned, int *, void **, void **);
int cuLinkAddData_v2(void *, int, const void *, size_t, const char *, unsigned, int *, void **);
int cuLinkComplete(void *, void **, size_t *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);

int main(int count, char **arguments) {
    void *context = NULL, *primary, *linker, *image, *module, *kernel;
    size_t bytes;
    int device = 7;
    CHECK(count == 2 && cudaGetDeviceCount(&device) == 0 && device == 1);
    // What only asks about devices starts none.
    CHECK(cuCtxGetCurrent(&context) == 3 && cuCtxGetDevice(&device) == 3);
    if (strcmp(arguments[1], "set") == 0) CHECK(cudaSetDevice(9) == 101 && cudaSetDevice(0) == 0);
    if (strcmp(arguments[1], "free") == 0) CHECK(cudaFree(NULL) == 0);
    if (strcmp(arguments[1], "init") == 0) {
        void *own;
        CHECK(cudaInitDevice(0, 0, 0) == 0 && cuInit(0) == 0);
        CHECK(cuCtxGetCurrent(&context) == 0 && context == NULL);
        CHECK(cuCtxCreate_v2(&own, 0, 0) == 0 && cudaFree(NULL) == 0);
        CHECK(cuCtxGetCurrent(&context) == 0 && context == own);
        CHECK(cudaSetDevice(0) == 0 && cuCtxGetCurrent(&context) == 0 && context != own);
        CHECK(cuCtxDestroy_v2(context) == 201);
    }
    void *thing;
    size_t left, all;
    if (strcmp(arguments[1], "wait") == 0) CHECK(cudaDeviceSynchronize() == 0);
    if (strcmp(arguments[1], "info") == 0) CHECK(cudaMemGetInfo(&left, &all) == 0);
    if (strcmp(arguments[1], "async") == 0) CHECK(cudaMallocAsync(&thing, 64, NULL) == 0);
    if (strcmp(arguments[1], "stream") == 0) CHECK(cudaStreamCreate(&thing) == 0);
    if (strcmp(arguments[1], "event") == 0) CHECK(cudaEventCreate(&thing) == 0);
    CHECK(cuCtxGetCurrent(&context) == 0 && context != NULL && cuCtxGetDevice(&device) == 0 && device == 0);
    CHECK(cuDevicePrimaryCtxRetain(&primary, 0) == 0 && primary == context);
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &linker) == 0);
    CHECK(cuLinkAddData_v2(linker, 1, PTX, sizeof PTX, "own", 0, NULL, NULL) == 0);
    CHECK(cuLinkComplete(linker, &image, &bytes) == 0 && cuModuleLoadData(&module, image) == 0);
    CHECK(cuModuleGetFunction(&kernel, module, "scale") == 0);
    printf("passed\n");
    return 0;
}
