// A CUDA driver for tests of the runner on machines without a GPU: memory is that of the host, and `warplens run`
// executes what is launched. Times are those of a clock that goes on by a microsecond per event and per kernel that takes
// arguments; they mean nothing, and who measures can find that out by the symbol warplens_emulates_this_driver.
//
// It is built as libcuda.so.1 and found through LD_LIBRARY_PATH; WARPLENS names the program. See test.sh.

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Kernel {
    std::string file, name;
    std::vector<size_t> sizes;  // Bytes of its parameters.
};

std::map<CUdeviceptr, size_t> buffers;
std::vector<std::string> modules;
std::vector<Kernel*> kernels;
float now = 0;

// A folder of this process that goes with it.
struct Folder {
    std::filesystem::path path;

    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "emulated-driver-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
} folder;

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Bytes of the parameters of a kernel, from its declaration.
std::vector<size_t> parameters(const std::string& ptx, const std::string& kernel) {
    std::smatch declaration;
    std::vector<size_t> sizes;
    if (!std::regex_search(ptx, declaration, std::regex("\\.entry\\s+" + kernel + "\\s*\\(([^)]*)\\)"))) {
        return sizes;
    }
    std::string text = declaration[1];
    std::regex type("\\.param[^,]*?\\.[usfb](\\d+)\\s");
    for (std::sregex_iterator at(text.begin(), text.end(), type), end; at != end; ++at) {
        sizes.push_back(std::stoul((*at)[1]) / 8);
    }
    return sizes;
}

std::string three(unsigned x, unsigned y, unsigned z) {
    return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
}

CUresult execute(const Kernel& kernel, const std::string& shape, void** values) {
    const char* program = std::getenv("WARPLENS");
    std::ostringstream command;
    command << (program ? program : "warplens") << " run -q --force " << kernel.file << " -k " << kernel.name << shape;
    std::vector<std::pair<CUdeviceptr, std::string>> saved;
    for (size_t i = 0; i < kernel.sizes.size(); ++i) {
        CUdeviceptr address = 0;
        std::memcpy(&address, values[i], kernel.sizes[i]);
        auto buffer = kernel.sizes[i] == 8 ? buffers.find(address) : buffers.end();
        std::string number = std::to_string(i);
        if (buffer != buffers.end()) {
            std::filesystem::path before = folder.path / (number + ".bin"), after = folder.path / (number + ".npy");
            std::ofstream(before, std::ios::binary).write(reinterpret_cast<char*>(address), buffer->second);
            command << " --arg 'u8[" << buffer->second << "]:file(" << before.string() << ")' --save " << number << '='
                    << after.string();
            saved.emplace_back(address, after.string());
        } else {
            command << " --arg 'bytes(";
            for (size_t byte = 0; byte < kernel.sizes[i]; ++byte) {
                char text[3];
                std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char*>(values[i])[byte]);
                command << text;
            }
            command << ")'";
        }
    }
    command << " > " << (folder.path / "output.txt").string();
    if (std::system(command.str().c_str()) != 0) {
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    for (const auto& [address, path] : saved) {
        std::string array = read_file(path);
        // What comes before the elements of a file of NumPy is as long as bytes 8 and 9 say, and those ten.
        size_t skipped = 10 + static_cast<unsigned char>(array[8]) + 256 * static_cast<unsigned char>(array[9]);
        std::memcpy(reinterpret_cast<void*>(address), array.data() + skipped, array.size() - skipped);
    }
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult, const char** text) {
    *text = "the program that executes failed";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int) {
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice) {
    std::snprintf(name, length, "the emulator in place of a GPU");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    bool is_major = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    *value = is_major ? 9 : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0 : 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice) {
    std::snprintf(id, length, "none");
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice) { return CUDA_SUCCESS; }

CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    std::filesystem::path path = folder.path / (std::to_string(modules.size()) + ".ptx");
    std::ofstream(path) << static_cast<const char*>(image);
    modules.push_back(path.string());
    *module = reinterpret_cast<CUmodule>(modules.size());
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    const std::string& file = modules[reinterpret_cast<size_t>(module) - 1];
    kernels.push_back(new Kernel{file, name, parameters(read_file(file), name)});
    *function = reinterpret_cast<CUfunction>(kernels.back());
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
    *value = 32;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
    const auto& sizes = reinterpret_cast<Kernel*>(function)->sizes;
    if (index >= sizes.size()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = 0;
    *size = sizes[index];
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* all) {
    *free = *all = size_t(1) << 32;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    buffers[*address] = bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    buffers.erase(address);
    std::free(reinterpret_cast<void*>(address));
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return CUDA_SUCCESS;
}

extern const int warplens_emulates_this_driver = 1;

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream, void** values, void**) {
    const Kernel& kernel = *reinterpret_cast<Kernel*>(function);
    // Nothing depends on what is in the cache.
    if (kernel.name == "sweep") {
        return CUDA_SUCCESS;
    }
    now += kernel.sizes.empty() ? 0 : 1e-3f;
    std::string shape = " --grid " + three(gx, gy, gz) + " --block " + three(bx, by, bz);
    return execute(kernel, shape + " --shared " + std::to_string(shared), values);
}

CUresult cuEventCreate(CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(new float(0));
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream) {
    now += 1e-3f;
    *reinterpret_cast<float*>(event) = now;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }

// The header gives this name to a later version of the function; drivers have both.
#undef cuEventElapsedTime

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    *milliseconds = *reinterpret_cast<float*>(end) - *reinterpret_cast<float*>(start);
    return CUDA_SUCCESS;
}
}
