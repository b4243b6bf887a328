#include "driver.h"

#include <dlfcn.h>

#include <type_traits>

Driver::Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        missing = "there is no CUDA driver on this machine (libcuda.so.1)";
        return;
    }
#define FIND(name, symbol, result, ...)                                                                            \
    name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(library, symbol));                                      \
    if (!name) {                                                                                                   \
        missing = "the CUDA driver is too old: it has no " symbol;                                                 \
        return;                                                                                                    \
    }
    DRIVER_FUNCTIONS(FIND)
#undef FIND
    int count = 0;
    if (Init(0) != CUDA_SUCCESS || DeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
        missing = "the CUDA driver finds no GPU";
    }
}

Management::Management(const char* bus_id) {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        return;
    }
    auto find = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
        return function != nullptr;
    };
    int (*init)() = nullptr;
    int (*version_of)(char*, unsigned) = nullptr;
    int (*by_bus)(const char*, void**) = nullptr;
    if (!find(init, "nvmlInit_v2") || init() != 0) {
        return;
    }
    if (find(version_of, "nvmlSystemGetDriverVersion")) {
        version_of(version, sizeof version);
    }
    find(clock, "nvmlDeviceGetClockInfo");
    find(largest, "nvmlDeviceGetMaxClockInfo");
    if (!find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") || by_bus(bus_id, &device) != 0) {
        device = nullptr;
    }
}

unsigned Management::clock_mhz(int domain) const {
    unsigned mhz = 0;
    return device && clock && clock(device, domain, &mhz) == 0 ? mhz : 0;
}

unsigned Management::largest_clock_mhz(int domain) const {
    unsigned mhz = 0;
    return device && largest && largest(device, domain, &mhz) == 0 ? mhz : 0;
}
