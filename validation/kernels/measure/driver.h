// The functions of the CUDA driver that the runner needs, found when it starts: it builds where there is no driver, and
// says that there is none.

#pragma once

#include <cuda.h>

struct Driver {
    // Null where there is a driver that has all functions and starts, else what is wrong.
    const char* missing = nullptr;

#define DRIVER_FUNCTIONS(F)                                                                                        \
    F(Init, "cuInit", CUresult, unsigned)                                                                          \
    F(DriverGetVersion, "cuDriverGetVersion", CUresult, int*)                                                      \
    F(GetErrorString, "cuGetErrorString", CUresult, CUresult, const char**)                                        \
    F(DeviceGetCount, "cuDeviceGetCount", CUresult, int*)                                                          \
    F(DeviceGet, "cuDeviceGet", CUresult, CUdevice*, int)                                                          \
    F(DeviceGetName, "cuDeviceGetName", CUresult, char*, int, CUdevice)                                            \
    F(DeviceGetAttribute, "cuDeviceGetAttribute", CUresult, int*, CUdevice_attribute, CUdevice)                    \
    F(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", CUresult, char*, int, CUdevice)                                    \
    F(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUresult, CUcontext*, CUdevice)                          \
    F(CtxSetCurrent, "cuCtxSetCurrent", CUresult, CUcontext)                                                       \
    F(CtxSynchronize, "cuCtxSynchronize", CUresult)                                                                \
    F(ModuleLoadDataEx, "cuModuleLoadDataEx", CUresult, CUmodule*, const void*, unsigned, CUjit_option*, void**)   \
    F(ModuleGetFunction, "cuModuleGetFunction", CUresult, CUfunction*, CUmodule, const char*)                      \
    F(FuncGetAttribute, "cuFuncGetAttribute", CUresult, int*, CUfunction_attribute, CUfunction)                    \
    F(FuncSetAttribute, "cuFuncSetAttribute", CUresult, CUfunction, CUfunction_attribute, int)                     \
    F(FuncGetParamInfo, "cuFuncGetParamInfo", CUresult, CUfunction, size_t, size_t*, size_t*)                      \
    F(MemGetInfo, "cuMemGetInfo_v2", CUresult, size_t*, size_t*)                                                   \
    F(MemAlloc, "cuMemAlloc_v2", CUresult, CUdeviceptr*, size_t)                                                   \
    F(MemFree, "cuMemFree_v2", CUresult, CUdeviceptr)                                                              \
    F(MemcpyHtoD, "cuMemcpyHtoD_v2", CUresult, CUdeviceptr, const void*, size_t)                                   \
    F(MemcpyDtoH, "cuMemcpyDtoH_v2", CUresult, void*, CUdeviceptr, size_t)                                         \
    F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", CUresult, CUdeviceptr, CUdeviceptr, size_t, CUstream)               \
    F(MemsetD8Async, "cuMemsetD8Async", CUresult, CUdeviceptr, unsigned char, size_t, CUstream)                    \
    F(LaunchKernel, "cuLaunchKernel", CUresult, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,      \
      unsigned, unsigned, CUstream, void**, void**)                                                                \
    F(EventCreate, "cuEventCreate", CUresult, CUevent*, unsigned)                                                  \
    F(EventRecord, "cuEventRecord", CUresult, CUevent, CUstream)                                                   \
    F(EventSynchronize, "cuEventSynchronize", CUresult, CUevent)                                                   \
    F(EventElapsedTime, "cuEventElapsedTime", CUresult, float*, CUevent, CUevent)

#define DECLARE(name, symbol, result, ...) result (*name)(__VA_ARGS__) = nullptr;
    DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE

    Driver();
};

// What the management library says, as far as there is one; 0 or empty where it does not.
struct Management {
    void* device = nullptr;
    char version[96] = "";

    explicit Management(const char* bus_id);
    unsigned clock_mhz(int domain) const;
    unsigned largest_clock_mhz(int domain) const;

  private:
    int (*clock)(void*, int, unsigned*) = nullptr;
    int (*largest)(void*, int, unsigned*) = nullptr;
};

// Domains of clocks, as the management library numbers them.
constexpr int SM_CLOCK = 1, MEMORY_CLOCK = 2;
