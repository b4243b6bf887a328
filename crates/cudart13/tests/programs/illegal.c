/* An access behind an allocation: the launch goes well, and everything after it fails. */
#include "check.h"

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cudaMalloc(void *, size_t);
int cudaGetLastError(void);
int cudaDeviceSynchronize(void);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

int main(void) {
    void *context, *module, *kernel, *data;
    float factor = 1;
    unsigned n = 256;
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0 && cuModuleLoadData(&module, PTX) == 0);
    CHECK(cuModuleGetFunction(&kernel, module, "scale") == 0 && cudaMalloc(&data, 1000) == 0);
    void *arguments[] = {&data, &factor, &n};
    CHECK(cuLaunchKernel(kernel, 2, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cudaGetLastError() == 0);
    CHECK(cudaDeviceSynchronize() == 700 && cuCtxSynchronize() == 700);
    CHECK(cudaMalloc(&data, 4) == 700 && cudaGetLastError() == 700);
    printf("passed\n");
    return 3;
}
