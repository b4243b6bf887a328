/* Device code as compilers leave it in a program, with the functions that it is registered by. */
#include "check.h"
#include <stdint.h>

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);

enum { NO_CODE, PTX_CODE, MACHINE_CODE };

typedef struct {
    uint32_t magic; uint16_t version, header; uint64_t size;
    uint16_t kind, entry_version; uint32_t entry_header; uint64_t padded;
    uint32_t packed, options, minor, architecture; uint64_t name, flags, unused, unpacked;
    char code[1 << 16];
} Container;

typedef struct { int magic, version; void *data, *unlinked; } Wrapper;

/* A container with one entry, whose code is there already or is copied; none where there are no bytes. */
static void fill(Container *container, int kind, int architecture, const void *code, size_t bytes) {
    container->magic = 0xba55ed50, container->version = 1, container->header = 16;
    container->size = bytes ? 64 + bytes : 0;
    container->kind = kind, container->entry_header = 64, container->padded = bytes, container->architecture = architecture;
    if (code) memcpy(container->code, code, bytes);
}

/* Registers code with one kernel, for which an address of the host stands. */
static void **register_kernel(Wrapper *wrapper, void *stub, const char *name) {
    void **handle = __cudaRegisterFatBinary(wrapper);
    __cudaRegisterFunction(handle, stub, (char *)name, name, -1, NULL, NULL, NULL, NULL, NULL);
    return handle;
}
