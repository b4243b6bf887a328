/* Programs that do what few do: by their names, threads, a fork, a library that is loaded late, default streams of
   threads, an end in the middle. */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxSetCurrent(void *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cudaMalloc(void *, size_t);
int cudaFree(void *);
int cudaMemset_ptds(void *, int, size_t);
int cudaMemcpy_ptds(void *, const void *, size_t, int);
int cudaMemsetAsync_ptsz(void *, int, size_t, void *);
int cudaStreamSynchronize_ptsz(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchKernel_ptsz(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

enum { THREADS = 8, LAUNCHES = 50 };

static void *context, *kernel;

static void *double_often(void *data) {
    float factor = 2;
    unsigned n = 1;
    void *arguments[] = {&data, &factor, &n};
    CHECK(cuCtxSetCurrent(context) == 0);
    for (int i = 0; i < LAUNCHES; i++) CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) == 0);
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    float *data[THREADS], value = 1;
    for (int i = 0; i < THREADS; i++) {
        CHECK(cudaMalloc(&data[i], 4) == 0 && cudaMemcpy(data[i], &value, 4, 1) == 0);
        CHECK(pthread_create(&all[i], NULL, double_often, data[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(all[i], NULL) == 0 && cudaMemcpy(&value, data[i], 4, 2) == 0);
        CHECK(value == (float)(1ull << LAUNCHES));
    }
}

static void forked(void) {
    void *data;
    CHECK(cudaMalloc(&data, 4) == 0);
    int status, child = fork();
    if (child == 0) _exit(cudaMalloc(&data, 4) == 3 && cudaFree(data) == 3 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(cudaFree(data) == 0);
}

static void late(void) {
    void *library = dlopen("libcudart.so.13", RTLD_NOW);
    CHECK(library != NULL);
    int (*allocate)(void *, size_t) = dlsym(library, "cudaMalloc");
    void *data;
    CHECK(allocate != NULL && allocate(&data, 4) == 0);
    CHECK(dlclose(library) == 0 && cudaFree(data) == 0);
}

static void per_thread(void) {
    float *data, value = 3, factor = 2;
    unsigned n = 1;
    CHECK(cudaMalloc(&data, 4) == 0 && cudaMemset_ptds(data, 1, 4) == 0);
    CHECK(cudaMemsetAsync_ptsz(data, 0, 4, NULL) == 0 && cudaStreamSynchronize_ptsz(NULL) == 0);
    CHECK(cudaMemcpy_ptds(data, &value, 4, 1) == 0);
    void *arguments[] = {&data, &factor, &n};
    CHECK(cuLaunchKernel_ptsz(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cudaMemcpy_ptds(&value, data, 4, 2) == 0 && value == 6);
}

int main(int count, char **arguments) {
    void *module;
    CHECK(count == 2);
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0 && cuModuleLoadData(&module, PTX) == 0);
    CHECK(cuModuleGetFunction(&kernel, module, "scale") == 0);
    if (strcmp(arguments[1], "threads") == 0) threads();
    if (strcmp(arguments[1], "fork") == 0) forked();
    if (strcmp(arguments[1], "dlopen") == 0) late();
    if (strcmp(arguments[1], "per-thread") == 0) per_thread();
    if (strcmp(arguments[1], "middle") == 0) {
        threads();
        abort();
    }
    printf("passed\n");
    return 0;
}
