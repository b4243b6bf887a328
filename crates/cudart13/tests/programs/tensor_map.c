/* Tensor maps: boxes of a tensor come to shared memory as the map says, and impossible maps are refused. */
#include "check.h"

typedef unsigned long long Address;
typedef struct { unsigned char bytes[128] __attribute__((aligned(64))); } Map;
int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(Address *, size_t);
int cuMemcpyHtoD_v2(Address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, Address, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuTensorMapEncodeTiled(Map *, int, unsigned, Address, const Address *, const Address *, const unsigned *, const unsigned *, int, int, int, int);
int cuTensorMapReplaceAddress(Map *, Address);
int cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);

/* Brings the box at (x, y), 8 rows of 16 words, to shared memory, and stores it. */
static const char BOX[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry box(.param .align 64 .b8 map[128], .param .u64 to, .param .u32 x, .param .u32 y) {\n"
    "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
    "  .shared .align 128 .b8 tile[512]; .shared .align 8 .b64 bar;\n"
    "  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y];\n"
    "  mov.b64 %rd2, map; cvta.param.u64 %rd3, %rd2;\n"
    "  mov.u32 %r3, tile; mov.u32 %r4, bar; mov.u32 %r5, %tid.x;\n"
    "  setp.ne.u32 %p, %r5, 0; @%p bra WAIT;\n"
    "  mbarrier.init.shared.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r4], 512;\n"
    "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd3, {%r1, %r2}], [%r4];\n"
    "WAIT: bar.sync 0;\n"
    "AGAIN: mbarrier.try_wait.parity.shared.b64 %p, [%r4], 0; @!%p bra AGAIN;\n"
    "  shl.b32 %r6, %r5, 2; add.u32 %r6, %r3, %r6; ld.shared.u32 %r7, [%r6];\n"
    "  mul.wide.u32 %rd5, %r5, 4; add.u64 %rd5, %rd1, %rd5; st.global.u32 [%rd5], %r7; ret;\n}\n";

enum { WIDTH = 20, HEIGHT = 12, ROWS = 8, COLUMNS = 16, INVALID = 1, NOT_SUPPORTED = 801, INT32 = 3 };

static void *kernel;
static Address to;

/* Compares the box with the tensor, whose element at (x, y) is `first` + 100 * y + x. */
static void look(const Map *map, int x, int y, int first, int swizzled) {
    int found[ROWS * COLUMNS];
    void *arguments[] = {(void *)map, &to, &x, &y};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, ROWS * COLUMNS, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cuMemcpyDtoH_v2(found, to, sizeof found) == 0);
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            int at = row * COLUMNS + column, inside = x + column >= 0 && x + column < WIDTH && y + row >= 0 && y + row < HEIGHT;
            /* Pieces of four words change places in rows of 64 bytes, by the number of the 128 bytes that they are in. */
            if (swizzled) at ^= (at / 32 & 3) * 4;
            CHECK(found[at] == (inside ? first + 100 * (y + row) + x + column : 0));
        }
}

int main(void) {
    void *context, *module, *by_name;
    Address tensor, other;
    Map map, changed;
    int values[HEIGHT][WIDTH], state;
    const Address extents[] = {WIDTH, HEIGHT}, strides[] = {WIDTH * 4}, odd[] = {WIDTH * 4 + 8};
    const unsigned box[] = {COLUMNS, ROWS}, thin[] = {4, ROWS}, steps[] = {1, 1}, none[] = {0, 1};

    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0);
    CHECK(cuModuleLoadData(&module, BOX) == 0 && cuModuleGetFunction(&kernel, module, "box") == 0);
    CHECK(cuMemAlloc_v2(&tensor, sizeof values) == 0 && cuMemAlloc_v2(&other, sizeof values) == 0);
    CHECK(cuMemAlloc_v2(&to, ROWS * COLUMNS * 4) == 0);
    for (int first = 0; first <= 1000; first += 1000) {
        for (int y = 0; y < HEIGHT; y++) for (int x = 0; x < WIDTH; x++) values[y][x] = first + 100 * y + x;
        CHECK(cuMemcpyHtoD_v2(first ? other : tensor, values, sizeof values) == 0);
    }
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 2, tensor, extents, strides, box, steps, 0, 0, 2, 0) == 0);
    look(&map, 0, 0, 0, 0);
    look(&map, 3, 2, 0, 0);
    look(&map, -4, 9, 0, 0); /* partly outside */
    CHECK(cuTensorMapReplaceAddress(&map, other) == 0);
    look(&map, 4, 1, 1000, 0);
    CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &by_name, 0, &state) == 0 && state == 0);
    CHECK(((__typeof__(&cuTensorMapEncodeTiled))by_name)(&map, INT32, 2, tensor, extents, strides, box, steps, 0, 2, 0, 0) == 0);
    look(&map, 2, 1, 0, 1);

    memset(&changed, 7, sizeof changed);
    CHECK(cuTensorMapReplaceAddress(&changed, other) == INVALID && cuTensorMapReplaceAddress(&map, other + 4) == INVALID);
    CHECK(cuTensorMapEncodeTiled(NULL, INT32, 2, tensor, extents, strides, box, steps, 0, 0, 0, 0) == INVALID);
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 2, tensor + 4, extents, strides, box, steps, 0, 0, 0, 0) == INVALID);
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 6, tensor, extents, strides, box, steps, 0, 0, 0, 0) == INVALID);
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 2, tensor, extents, odd, box, steps, 0, 0, 0, 0) == INVALID);
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 2, tensor, extents, strides, box, none, 0, 2, 0, 0) == INVALID);
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 2, tensor, NULL, strides, box, steps, 0, 0, 0, 0) == INVALID);
    /* What GPUs take, and not we. */
    CHECK(cuTensorMapEncodeTiled(&map, 11, 2, tensor, extents, strides, box, steps, 0, 0, 0, 0) == NOT_SUPPORTED);
    CHECK(cuTensorMapEncodeTiled(&map, INT32, 2, tensor, extents, strides, thin, steps, 0, 2, 0, 0) == NOT_SUPPORTED);
    printf("passed\n");
    return 0;
}
