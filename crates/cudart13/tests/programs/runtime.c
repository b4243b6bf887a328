/* What nvcc makes of a program: a registered container, kernel and variable, a launch with brackets, shared memory. */
#include "container.h"

void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
int __cudaGetKernel(void **, const void *);
int __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, void *);
int cudaMalloc(void *, size_t);
int cudaMallocManaged(void *, size_t, unsigned);
int cudaMallocHost(void *, size_t);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaMallocPitch(void *, size_t *, size_t, size_t);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaGetDeviceProperties(void *, int);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, const void *, int, size_t, unsigned);
const char *cudaGetErrorString(int);
int cudaFuncGetAttributes(void *, const void *);
int cudaPointerGetAttributes(void *, const void *);

static Container container;
static Wrapper wrapper = {0x466243b1, 1, &container, NULL};
static float offset;         /* stands for the constant */
static void stub(void) {}    /* stands for the kernel */

static int launch(void *data, float factor, unsigned n) {
    dim3 grid = {(n + 127) / 128, 1, 1}, block = {128, 1, 1};
    void *kernel, *stream, *arguments[] = {&data, &factor, &n};
    size_t shared;
    if (__cudaPushCallConfiguration(grid, block, 0, NULL)) return -1;
    CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0 && grid.x == (n + 127) / 128);
    CHECK(__cudaGetKernel(&kernel, (void *)stub) == 0);
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

int main(void) {
    enum { N = 500 };
    float values[N], two = 2, *data, *managed, *pinned, rows[3][5], *pitched;
    size_t pitch;
    int blocks;
    unsigned char properties[1008], attributes[144], pointer[88];

    fill(&container, PTX_CODE, 80, PTX, sizeof PTX);
    void **handle = register_kernel(&wrapper, (void *)stub, "scale");
    __cudaRegisterVar(handle, (char *)&offset, "offset", "offset", 0, 4, 1, 0);
    __cudaRegisterFatBinaryEnd(handle);

    CHECK(cudaGetDeviceProperties(properties, 0) == 0 && *(int *)(properties + 384) == 108);
    for (int i = 0; i < N; i++) values[i] = (float)i;
    CHECK(cudaMalloc(&data, sizeof values) == 0 && cudaMemcpy(data, values, sizeof values, 1) == 0);
    CHECK(cudaMemcpyToSymbol(&offset, &two, 4, 0, 1) == 0 && cudaMemcpyToSymbol(&offset, &two, 4, 2, 1) == 1);
    CHECK(launch(data, 10, N) == 0 && cudaDeviceSynchronize() == 0);
    CHECK(cudaMemcpy(values, data, sizeof values, 2) == 0);
    for (int i = 0; i < N; i++) CHECK(values[i] == 10.0f * i + 2);

    /* Host and device see these at one address. */
    CHECK(cudaMallocManaged(&managed, N * 4, 1) == 0 && cudaMallocHost(&pinned, N * 4) == 0);
    for (int i = 0; i < N; i++) managed[i] = pinned[i] = 1;
    CHECK(launch(managed, 5, N) == 0 && launch(pinned, 6, N) == 0 && cudaDeviceSynchronize() == 0);
    CHECK(managed[0] == 7 && managed[N - 1] == 7 && pinned[0] == 8 && pinned[N - 1] == 8);
    CHECK(cudaMemset(managed, 0, 8) == 0 && managed[1] == 0 && managed[2] == 7);
    CHECK(cudaMemcpy(data, pinned, 8, 4) == 0 && cudaMemcpy(values, data, 8, 4) == 0 && values[1] == 8);
    CHECK(cudaPointerGetAttributes(pointer, managed) == 0 && *(int *)pointer == 3);
    CHECK(cudaPointerGetAttributes(pointer, data + 3) == 0 && *(int *)pointer == 2);
    CHECK(cudaPointerGetAttributes(pointer, values) == 0 && *(int *)pointer == 0);

    CHECK(cudaMallocPitch(&pitched, &pitch, 20, 3) == 0 && pitch % 256 == 0);
    memset(rows, 0, sizeof rows), rows[2][4] = 9;
    CHECK(cudaMemcpy2D(pitched, pitch, rows, 20, 20, 3, 1) == 0);
    memset(rows, 1, sizeof rows);
    CHECK(cudaMemcpy2D(rows, 20, pitched, pitch, 20, 3, 2) == 0 && rows[2][4] == 9 && rows[0][0] == 0);

    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (void *)stub, 128, 0, 0) == 0 && blocks == 16);
    CHECK(cudaFuncGetAttributes(attributes, (void *)stub) == 0 && *(int *)(attributes + 24) == 1024);

    /* The last error is kept until it is asked for. */
    CHECK(cudaGetLastError() == 1);
    CHECK(cudaFuncGetAttributes(attributes, values) == 98 && cudaPeekAtLastError() == 98);
    CHECK(cudaGetLastError() == 98 && cudaGetLastError() == 0);
    dim3 one = {1, 1, 1}, many = {2000, 1, 1};
    CHECK(cudaLaunchKernel((void *)stub, one, many, NULL, 0, NULL) != 0);
    CHECK(strcmp(cudaGetErrorString(2), "out of memory") == 0);
    CHECK(cudaFree(data) == 0 && cudaFree(NULL) == 0 && cudaFree(managed) == 0 && cudaFreeHost(pinned) == 0);
    CHECK(cudaFree(data) == 1);
    __cudaUnregisterFatBinary(handle);
    printf("passed\n");
    return 0;
}
