// Prints random kernel configurations and what NVIDIA's cuda_occupancy.h says about them. README.md tells how to run it.

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_occupancy.h>

struct Device {
    int major, minor, max_threads, max_threads_per_block, regs_per_block, regs_per_sm, max_regs_per_thread;
    int shared_per_block, shared_per_sm, shared_optin, shared_reserved;
};

// The properties that a driver would report, which the header takes as given.
static const Device DEVICES[] = {
    {3, 0, 2048, 1024, 65536, 65536, 63, 48, 48, 48, 0},
    {3, 2, 2048, 1024, 32768, 65536, 255, 48, 48, 48, 0},
    {3, 5, 2048, 1024, 65536, 65536, 255, 48, 48, 48, 0},
    {3, 7, 2048, 1024, 65536, 131072, 255, 48, 112, 48, 0},
    {5, 0, 2048, 1024, 65536, 65536, 255, 48, 64, 48, 0},
    {5, 2, 2048, 1024, 65536, 65536, 255, 48, 96, 48, 0},
    {5, 3, 2048, 1024, 32768, 65536, 255, 48, 64, 48, 0},
    {6, 0, 2048, 1024, 65536, 65536, 255, 48, 64, 48, 0},
    {6, 1, 2048, 1024, 65536, 65536, 255, 48, 96, 48, 0},
    {6, 2, 2048, 1024, 32768, 65536, 255, 48, 64, 48, 0},
    {7, 0, 2048, 1024, 65536, 65536, 255, 48, 96, 96, 0},
    {7, 2, 2048, 1024, 65536, 65536, 255, 48, 96, 96, 0},
    {7, 5, 1024, 1024, 65536, 65536, 255, 48, 64, 64, 0},
    {8, 0, 2048, 1024, 65536, 65536, 255, 48, 164, 163, 1},
    {8, 6, 1536, 1024, 65536, 65536, 255, 48, 100, 99, 1},
    {8, 7, 1536, 1024, 65536, 65536, 255, 48, 164, 163, 1},
    {8, 9, 1536, 1024, 65536, 65536, 255, 48, 100, 99, 1},
    {9, 0, 2048, 1024, 65536, 65536, 255, 48, 228, 227, 1},
    {10, 0, 2048, 1024, 65536, 65536, 255, 48, 228, 227, 1},
    {10, 1, 1536, 1024, 65536, 65536, 255, 48, 228, 227, 1},
    {10, 3, 2048, 1024, 65536, 65536, 255, 48, 228, 227, 1},
    {10, 7, 1024, 1024, 65536, 65536, 255, 48, 228, 227, 1},
    {11, 0, 1536, 1024, 65536, 65536, 255, 48, 228, 227, 1},
    {12, 0, 1536, 1024, 65536, 65536, 255, 48, 100, 99, 1},
    {12, 1, 1536, 1024, 65536, 65536, 255, 48, 100, 99, 1},
};

static uint64_t state;

static uint32_t random_below(uint32_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(((state >> 33) * (uint64_t)n) >> 31);
}

static int shared_bytes(int most) {
    switch (random_below(10)) {
        case 0: case 1: case 2: return 0;
        case 3: case 4: case 5: return (int)random_below(4096);
        case 6: return 1024 * (int)random_below(most / 1024 + 1);
        case 7: return (most > 300 ? most : 300) - (int)random_below(300) + 100;
        default: return (int)random_below(most);
    }
}

static void print_limit(int limit) {
    if (limit == INT_MAX) {
        printf(",-");
    } else {
        printf(",%d", limit);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: generate MAJOR MINOR COUNT\n");
        return 2;
    }
    const Device *device = nullptr;
    for (const Device &candidate : DEVICES) {
        if (candidate.major == atoi(argv[1]) && candidate.minor == atoi(argv[2])) device = &candidate;
    }
    if (!device) {
        fprintf(stderr, "no such device\n");
        return 2;
    }
    state = 0x9e3779b97f4a7c15ull ^ (uint64_t)(device->major * 100 + device->minor);

    cudaOccDeviceProp prop;
    prop.computeMajor = device->major;
    prop.computeMinor = device->minor;
    prop.maxThreadsPerBlock = device->max_threads_per_block;
    prop.maxThreadsPerMultiprocessor = device->max_threads;
    prop.regsPerBlock = device->regs_per_block;
    prop.regsPerMultiprocessor = device->regs_per_sm;
    prop.warpSize = 32;
    prop.sharedMemPerBlock = device->shared_per_block * 1024;
    prop.sharedMemPerMultiprocessor = device->shared_per_sm * 1024;
    prop.numSms = 1;
    prop.sharedMemPerBlockOptin = device->shared_optin * 1024;
    prop.reservedSharedMemPerBlock = device->shared_reserved * 1024;

    printf("threads,registers,static_shared,dynamic_shared,barriers,optin,carveout,"
           "ctas,by_warps,by_slots,by_registers,by_shared,by_barriers,registers_per_cta,shared_per_cta,limiters\n");
    for (int left = atoi(argv[3]); left > 0; left--) {
        int threads = random_below(10) < 6 ? 32 * (1 + (int)random_below(32)) : 1 + (int)random_below(1100);
        int registers = (int)random_below(device->max_regs_per_thread) + 1;
        if (random_below(2)) registers = (int)random_below(64);
        // Most configurations should be launchable.
        if (random_below(4) && registers * threads > device->regs_per_block) registers = device->regs_per_block / threads;
        if (registers > device->max_regs_per_thread) registers = device->max_regs_per_thread;
        if (random_below(50) == 0) registers = 300;
        int optin = (int)random_below(2);
        int most = (optin ? device->shared_optin : device->shared_per_block) * 1024;
        int fixed = shared_bytes(device->shared_per_block * 1024);
        int dynamic = random_below(4) ? shared_bytes(fixed < most ? most - fixed : 1024) : shared_bytes(most);
        int barriers = random_below(3) ? 1 : (int)random_below(17);
        // Before Volta the preference has three values; they stand in the same column as shares of the memory.
        int carveout = random_below(2) ? -1 : (int)random_below(101);
        if (device->major < 7 && carveout >= 0) carveout = carveout < 34 ? 0 : carveout < 67 ? 50 : 100;

        cudaOccFuncAttributes attributes;
        attributes.maxThreadsPerBlock = INT_MAX;
        attributes.numRegs = registers;
        attributes.sharedSizeBytes = fixed;
        attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
        attributes.shmemLimitConfig = optin ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
        attributes.maxDynamicSharedSizeBytes = dynamic;
        attributes.numBlockBarriers = barriers;
        cudaOccDeviceState preference;
        if (device->major >= 7) {
            preference.carveoutConfig = carveout;
        } else if (carveout >= 0) {
            preference.cacheConfig = carveout == 0    ? CACHE_PREFER_L1
                                     : carveout == 50 ? CACHE_PREFER_EQUAL
                                                      : CACHE_PREFER_SHARED;
        }
        cudaOccResult result = {};
        cudaOccError status =
            cudaOccMaxActiveBlocksPerMultiprocessor(&result, &prop, &attributes, &preference, threads, dynamic);
        if (status != CUDA_OCC_SUCCESS) {
            fprintf(stderr, "status %d\n", (int)status);
            return 1;
        }
        printf("%d,%d,%d,%d,%d,%d,%d,%d", threads, registers, fixed, dynamic, barriers, optin, carveout,
               result.activeBlocksPerMultiprocessor);
        print_limit(result.blockLimitWarps);
        print_limit(result.blockLimitBlocks);
        print_limit(result.blockLimitRegs);
        print_limit(result.blockLimitSharedMem);
        print_limit(result.blockLimitBarriers);
        printf(",%d,%zu,%u\n", result.allocatedRegistersPerBlock, result.allocatedSharedMemPerBlock,
               result.limitingFactors);
    }
    return 0;
}
