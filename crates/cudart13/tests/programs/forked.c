/* A program as nvcc builds it, whose kernel is registered before `main`: it makes its first call of CUDA in two processes,
   one of which is a child of the other. Both have a device. */
#include "container.h"

#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void *, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaFree(void *);

static Container container;
static Wrapper wrapper = {0x466243b1, 1, &container, NULL};
static void **handle;
static void stub(void) {}

__attribute__((constructor)) static void start(void) {
    fill(&container, PTX_CODE, 80, PTX, sizeof PTX);
    handle = register_kernel(&wrapper, (void *)stub, "scale");
    __cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void end(void) { __cudaUnregisterFatBinary(handle); }

/* The value that the kernel makes of 1 in each of so many launches. */
static float scaled(float factor, int launches) {
    float value = 1, *data;
    unsigned n = 1;
    dim3 one = {1, 1, 1}, block = {32, 1, 1};
    void *arguments[] = {&data, &factor, &n};
    CHECK(cudaMalloc(&data, 4) == 0 && cudaMemcpy(data, &value, 4, 1) == 0);
    for (int i = 0; i < launches; i++) CHECK(cudaLaunchKernel((void *)stub, one, block, arguments, 0, NULL) == 0);
    CHECK(cudaMemcpy(&value, data, 4, 2) == 0 && cudaFree(data) == 0);
    return value;
}

int main(void) {
    int status, child = fork();
    CHECK(child >= 0);
    if (child == 0) return scaled(3, 2) == 9 ? 0 : 1;
    CHECK(scaled(2, 3) == 8);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    printf("passed\n");
    return 0;
}
