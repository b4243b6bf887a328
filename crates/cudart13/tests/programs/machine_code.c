/* Machine code without PTX, for a GPU of compute capability 9.0: given by its address, in a file, and in a container as
   compilers leave it in a program. The first argument is a cubin with the kernel vector_add, the second one for another GPU. */
#include "container.h"

int cudaMalloc(void *, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemset(void *, int, size_t);
int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoad(void **, const char *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuFuncGetAttribute(int *, int, void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static Container container;
static Wrapper wrapper = {0x466243b1, 1, &container, NULL};
static void stub(void) {}

static size_t file(const char *path, char *to, size_t most) {
    FILE *file = fopen(path, "rb");
    CHECK(file);
    size_t bytes = fread(to, 1, most, file);
    fclose(file);
    return bytes;
}

int main(int count, char **arguments) {
    enum { N = 1000 };
    float a[N], b[N], c[N], *on_a, *on_b, *on_c;
    void *context, *module, *kernel;
    unsigned n = N;
    int registers;
    dim3 grid = {8, 1, 1}, block = {128, 1, 1};
    CHECK(count == 3);

    fill(&container, MACHINE_CODE, 90, NULL, file(arguments[1], container.code, sizeof container.code));
    register_kernel(&wrapper, (void *)stub, "vector_add");
    for (int i = 0; i < N; i++) a[i] = i, b[i] = 2 * i;
    CHECK(cudaMalloc(&on_a, sizeof a) == 0 && cudaMalloc(&on_b, sizeof b) == 0 && cudaMalloc(&on_c, sizeof c) == 0);
    CHECK(cudaMemcpy(on_a, a, sizeof a, 1) == 0 && cudaMemcpy(on_b, b, sizeof b, 1) == 0);
    void *values[] = {&on_a, &on_b, &on_c, &n};
    CHECK(cudaLaunchKernel((void *)stub, grid, block, values, 0, NULL) == 0);
    CHECK(cudaMemcpy(c, on_c, sizeof c, 2) == 0);
    for (int i = 0; i < N; i++) CHECK(c[i] == 3 * i);

    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0);
    CHECK(cuModuleLoad(&module, arguments[1]) == 0 && cuModuleGetFunction(&kernel, module, "vector_add") == 0);
    /* How far it reaches is for its header to say. */
    CHECK(cuModuleLoadData(&module, container.code) == 0 && cuModuleGetFunction(&kernel, module, "none") == 500);
    CHECK(cuModuleGetFunction(&kernel, module, "vector_add") == 0);
    CHECK(cuFuncGetAttribute(&registers, 4, kernel) == 0 && registers > 0);
    CHECK(cudaMemset(on_c, 0, sizeof c) == 0);
    CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, NULL, values, NULL) == 0);
    CHECK(cudaMemcpy(c, on_c, sizeof c, 2) == 0 && c[0] == 0 && c[N - 1] == 3 * (N - 1));

    CHECK(cuModuleLoad(&module, arguments[2]) == 209);
    /* A table of sections that lies nowhere. */
    memset(container.code + 0x28, 0x7f, 8);
    CHECK(cuModuleLoadData(&module, container.code) == 200);
    printf("passed\n");
    return 0;
}
