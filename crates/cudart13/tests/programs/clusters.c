/* Launches with clusters: kernels that say in which number of blocks a cluster comes, and launches that ask for it. */
#include "container.h"

int cudaMalloc(void *, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaGetLastError(void);
int cudaFuncSetAttribute(const void *, int, int);
int cudaLaunchKernelExC(const void *, const void *, void **);
int cudaDeviceSynchronize(void);

enum { INVALID_CLUSTER = 912, CLUSTER = 4, NON_PORTABLE = 14 };

typedef struct { int id, padding; unsigned value[16]; } Attribute;
typedef struct { dim3 grid, block; size_t shared; void *stream; Attribute *attributes; unsigned n_attributes; } Config;

/* Each block stores how many blocks its cluster has. `free` leaves that to the launch, `pair` asks for two. */
#define KERNEL(NAME, DEMAND)                                                                        \
    ".visible .entry " NAME "(.param .u64 data) " DEMAND " {\n"                                     \
    "  .reg .b32 %r<3>; .reg .b64 %rd<4>;\n"                                                        \
    "  ld.param.u64 %rd1, [data]; mov.u32 %r1, %cluster_nctarank; mov.u32 %r2, %ctaid.x;\n"         \
    "  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1; ret;\n}\n"
static const char CLUSTERS[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
    KERNEL("free", "") KERNEL("pair", ".reqnctapercluster 2, 1, 1");

static Container container;
static Wrapper wrapper = {0x466243b1, 1, &container, NULL};
static void of_free(void) {}
static void of_pair(void) {}

static unsigned *data, sizes[64];

/* The error of a launch of `blocks` blocks; where it has none, each of them was in a cluster of `expected` blocks. */
static int launch(void *stub, unsigned blocks, const dim3 *cluster, unsigned expected) {
    Attribute attribute = {.id = CLUSTER};
    if (cluster) attribute.value[0] = cluster->x, attribute.value[1] = cluster->y, attribute.value[2] = cluster->z;
    Config config = {{blocks, 1, 1}, {32, 1, 1}, 0, NULL, &attribute, cluster != NULL};
    void *arguments[] = {&data};
    int error = cudaLaunchKernelExC(&config, stub, arguments);
    if (error) { CHECK(cudaGetLastError() == error); return error; }
    CHECK(cudaMemcpy(sizes, data, sizeof sizes, 2) == 0);
    for (unsigned i = 0; i < blocks; i++) CHECK(sizes[i] == expected);
    return 0;
}

int main(void) {
    void *free_ = (void *)of_free, *pair = (void *)of_pair;
    const dim3 none = {0, 1, 1}, two = {2, 1, 1}, three = {3, 1, 1}, eight = {8, 1, 1}, sixteen = {16, 1, 1}, many = {-1, -1, -1};
    fill(&container, PTX_CODE, 90, CLUSTERS, sizeof CLUSTERS);
    void **handle = register_kernel(&wrapper, free_, "free");
    __cudaRegisterFunction(handle, pair, "pair", "pair", -1, NULL, NULL, NULL, NULL, NULL);
    CHECK(cudaMalloc(&data, sizeof sizes) == 0);

    CHECK(launch(free_, 12, NULL, 1) == 0 && launch(free_, 12, &two, 2) == 0 && launch(free_, 16, &eight, 8) == 0);
    CHECK(launch(free_, 16, &three, 0) == INVALID_CLUSTER); /* it does not divide the grid */
    CHECK(launch(free_, 16, &none, 0) == INVALID_CLUSTER && launch(free_, 16, &many, 0) == INVALID_CLUSTER);
    /* More than eight blocks are not on every GPU, and have to be allowed. */
    CHECK(launch(free_, 16, &sixteen, 0) == INVALID_CLUSTER);
    CHECK(cudaFuncSetAttribute(free_, NON_PORTABLE, 1) == 0 && launch(free_, 16, &sixteen, 16) == 0);
    CHECK(launch(pair, 16, &sixteen, 0) == INVALID_CLUSTER);

    /* What the kernel names is taken, and nothing else. */
    CHECK(launch(pair, 6, NULL, 2) == 0 && launch(pair, 6, &two, 2) == 0);
    CHECK(launch(pair, 6, &three, 0) == INVALID_CLUSTER && launch(pair, 5, NULL, 0) == INVALID_CLUSTER);
    /* The device goes on. */
    CHECK(cudaDeviceSynchronize() == 0 && launch(free_, 12, &two, 2) == 0);
    printf("passed\n");
    return 0;
}
