/* One mistake by its name: each that `--check` finds, and programs that make none. */
#include "check.h"

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cudaMalloc(void *, size_t);
int cudaMallocManaged(void *, size_t, unsigned);
int cudaMallocAsync(void *, size_t, void *);
int cudaFree(void *);
int cudaFreeAsync(void *, void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

enum { THREADS = 128, BYTES = 4 * THREADS };

/* `turn` hands values to the next warp over shared memory, with a barrier where `waits` is not 0; `pass` copies; `meet`
   lets all blocks store at one place, each its number. */
static const char KERNELS[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry turn(.param .u64 from, .param .u64 to, .param .u32 waits) {\n"
    "  .shared .align 4 .b8 tile[512];\n"
    "  .reg .pred %p; .reg .b32 %r<10>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; ld.param.u32 %r1, [waits];\n"
    "  mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n"
    "  ld.global.u32 %r3, [%rd4];\n"
    "  shl.b32 %r4, %r2, 2; mov.u32 %r5, tile; add.u32 %r6, %r5, %r4;\n"
    "  st.shared.u32 [%r6], %r3;\n"
    "  setp.eq.u32 %p, %r1, 0; @%p bra READ;\n"
    "  bar.sync 0;\n"
    "READ:\n"
    "  xor.b32 %r7, %r4, 128; add.u32 %r8, %r5, %r7;\n"
    "  ld.shared.u32 %r9, [%r8];\n"
    "  st.global.u32 [%rd5], %r9;\n"
    "  ret;\n}\n"
    ".visible .entry pass(.param .u64 from, .param .u64 to) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];\n"
    "  mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n"
    "  ld.global.u32 %r3, [%rd4]; st.global.u32 [%rd5], %r3;\n"
    "  ret;\n}\n"
    ".visible .entry meet(.param .u64 to) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [to]; mov.u32 %r2, %ctaid.x; st.global.u32 [%rd1], %r2;\n"
    "  ret;\n}\n";

static void *module;

static void launch(const char *name, unsigned blocks, void **arguments) {
    void *kernel;
    CHECK(cuModuleGetFunction(&kernel, module, name) == 0);
    CHECK(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) == 0);
}

int main(int count, char **arguments) {
    void *context, *from, *to, *more;
    unsigned values[THREADS], waits = 1;
    CHECK(count == 2);
    const char *mistake = arguments[1];
#define IS(name) (strcmp(mistake, name) == 0)
    for (unsigned i = 0; i < THREADS; i++) values[i] = i + 1;
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0 && cuModuleLoadData(&module, KERNELS) == 0);
    CHECK(cudaMalloc(&from, BYTES) == 0 && cudaMalloc(&to, BYTES) == 0);
    /* Half of the values are missing for who reads all of them. */
    CHECK(cudaMemcpy(from, values, IS("uninitialised") ? BYTES / 2 : BYTES, 1) == 0);
    if (IS("race")) waits = 0;
    if (IS("freed")) CHECK(cudaFree(from) == 0);
    if (IS("bounds")) from = (char *)from + 64;
    launch("turn", 1, (void *[]){&from, &to, &waits});
    if (IS("freed") || IS("bounds")) {
        CHECK(cudaDeviceSynchronize() == 700);
        return 0;
    }
    if (IS("blocks")) launch("meet", 4, (void *[]){&to});
    if (IS("again")) for (int i = 0; i < 3; i++) launch("turn", 1, (void *[]){&from, &to, &(unsigned){0}});
    /* What is copied on the device is as written as it was, and what kernels and the host write is written. */
    CHECK(cudaMallocManaged(&more, BYTES, 1) == 0);
    launch("pass", 1, (void *[]){&to, &more});
    launch("pass", 1, (void *[]){&more, &from});
    CHECK(cudaFree(more) == 0);
    CHECK(cudaMallocAsync(&more, BYTES, NULL) == 0 && cudaMemcpy(more, to, BYTES, 3) == 0);
    launch("pass", 1, (void *[]){&more, &from});
    CHECK(cudaMemset(more, 0, BYTES) == 0);
    launch("pass", 1, (void *[]){&more, &from});
    CHECK(cudaFreeAsync(more, NULL) == 0);
    CHECK(cudaDeviceSynchronize() == 0);
    if (!IS("leak")) CHECK(cudaFree(from) == 0);
    if (!IS("reset")) CHECK(cudaFree(to) == 0);
    if (IS("reset")) CHECK(cudaDeviceReset() == 0);
    printf("passed\n");
    return 0;
}
