// Measures the cases on a GPU and checks what they leave: see --help and ../README.md.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "cases.h"
#include "driver.h"

namespace {

const char* const HELP =
    "measure --gpu ID [OPTIONS]: times the kernels of validation/kernels on a GPU, and checks what they compute\n"
    "\n"
    "  --gpu ID         the GPU as `warplens --gpu` takes it, such as h100-sxm; it names the folder of the table\n"
    "  --device N       which GPU of the machine (0)\n"
    "  --build FOLDER   what build.sh wrote (build beside the sources)\n"
    "  --out FOLDER     where <ID>/suite.csv goes (validation/measured)\n"
    "  --kernel TEXT    only kernels whose names contain it\n"
    "  --size NAME      only small, middle or large\n"
    "  --cache STATE    before each launch: cold, the L2 cache holds other data (the default), or warm, it holds what\n"
    "                   the launch before has left\n"
    "  --repeats N      launches of each case at least (21)\n"
    "  --latency US     what a profiler says of an empty kernel, which stays in the times (0)\n"
    "  --seconds S      time for launches of each case beyond that (0.2), up to 201 launches\n"
    "  --once           launch each case once and check it, without a table: for profilers\n"
    "\n"
    "Exit codes: 0 measured, 1 a case is wrong or failed, 2 usage or files, 3 no driver or no GPU.\n";

constexpr int WRONG = 1, USAGE = 2, NO_GPU = 3;

struct Options {
    std::string gpu, build, out, kernel, size, cache = "cold", command;
    int device = 0, repeats = 21;
    bool once = false;
    double seconds = 0.2;
    double latency = 0;
};

struct Failed {
    std::string message;
};

std::unique_ptr<Driver> driver;

void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
        const char* text = nullptr;
        driver->GetErrorString(result, &text);
        throw Failed{std::string(what) + ": " + (text ? text : "unknown error")};
    }
}

#define CHECK(name, ...) check(driver->name(__VA_ARGS__), #name)

// Device memory of its own.
class Buffer {
  public:
    explicit Buffer(size_t bytes) : bytes(bytes) { CHECK(MemAlloc, &address, bytes); }
    ~Buffer() { driver->MemFree(address); }
    Buffer(const Buffer&) = delete;

    CUdeviceptr address = 0;
    size_t bytes;
};

// A buffer of a case; what the launch changes is set back before each.
struct Given {
    Buffer now;
    std::unique_ptr<Buffer> before;  // Null where it held zeros.
    bool is_changed = false;

    Given(const Argument& argument, bool is_changed) : now(argument.bytes()), is_changed(is_changed) {
        if (argument.content == "zeros") {
            CHECK(MemsetD8Async, now.address, 0, now.bytes, nullptr);
            return;
        }
        std::vector<unsigned char> data = argument.filled();
        CHECK(MemcpyHtoD, now.address, data.data(), data.size());
        if (is_changed) {
            before = std::make_unique<Buffer>(data.size());
            CHECK(MemcpyHtoD, before->address, data.data(), data.size());
        }
    }

    void set_back() const {
        if (before) {
            CHECK(MemcpyDtoDAsync, now.address, before->address, now.bytes, nullptr);
        } else if (is_changed) {
            CHECK(MemsetD8Async, now.address, 0, now.bytes, nullptr);
        }
    }
};

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw BadInput{"cannot read " + path + "; build.sh writes it"};
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// What the timed launches of a case took, in microseconds.
struct Times {
    double median, least, most;
    size_t count;
};

class Runner {
  public:
    Runner(const Options& options) : options(options) {
        CHECK(DeviceGet, &device, options.device);
        CHECK(DevicePrimaryCtxRetain, &context, device);
        CHECK(CtxSetCurrent, context);
        capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                     attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        // The newest target that this GPU runs, of those that were built.
        for (const auto& entry : std::filesystem::directory_iterator(options.build)) {
            std::string name = entry.path().filename();
            int of = name.rfind("sm_", 0) == 0 ? std::atoi(name.c_str() + 3) : 0;
            target = of <= capability ? std::max(target, of) : target;
        }
        if (target == 0) {
            throw BadInput{options.build + " holds nothing that compute capability " + std::to_string(capability) +
                           " runs; build.sh takes targets"};
        }
        char bus[32] = "";
        CHECK(DeviceGetPCIBusId, bus, sizeof bus, device);
        management = std::make_unique<Management>(bus);
        CHECK(EventCreate, &start, 0);
        CHECK(EventCreate, &end, 0);
        if (options.cache == "cold") {
            // Four times the cache, so that no policy of replacement keeps what was there.
            size_t l2 = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
            other = std::make_unique<Buffer>(std::max<size_t>(4 * l2, 64 << 20));
            CHECK(MemsetD8Async, other->address, 0, other->bytes, nullptr);
        }
        std::string ptx = content_of(options.build + "/clock.ptx");
        CHECK(ModuleLoadDataEx, &own, ptx.c_str(), 0, nullptr, nullptr);
        empty = empty_us();
    }

    int attribute(CUdevice_attribute of) const {
        int value = 0;
        CHECK(DeviceGetAttribute, &value, of, device);
        return value;
    }

    std::string provenance() const {
        char name[256] = "";
        CHECK(DeviceGetName, name, sizeof name, device);
        int version = 0;
        CHECK(DriverGetVersion, &version);
        std::time_t now = std::time(nullptr);
        char date[32];
        std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
        std::ostringstream text;
        text << "# Written by validation/kernels/measure on " << date << ": " << options.command << "\n# " << name
             << ", compute capability " << capability / 10 << '.' << capability % 10 << ", "
             << attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) << " SMs, "
             << (attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) >> 10) << " KiB of L2 cache, largest clocks "
             << attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000 << " MHz of SMs and "
             << attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000 << " MHz of memory.\n# Driver "
             << (management->version[0] ? management->version : "of unknown version") << ", CUDA " << version / 1000
             << '.' << version % 1000 / 10 << "; PTX for sm_" << target << " by "
             << first_line(options.build + "/toolkit.txt") << ", assembled by the driver.\n# Medians of launches by "
             << "CUDA events, one launch at a time, " << options.cache << " L2 cache; measured_us is that with "
             << options.latency << " us instead of the " << empty << " us of an empty kernel.\n";
        return text.str();
    }

    std::string first_line(const std::string& path) const {
        std::string line;
        std::ifstream file(path);
        return std::getline(file, line) ? line : "an unknown compiler";
    }

    // The time between the events around a kernel that does nothing.
    double empty_us() const {
        CUfunction function = own_kernel("empty");
        auto launch = [&] { CHECK(LaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr); };
        return timed([] {}, launch).median;
    }

    // A kernel of those that `warplens measure` uses, too.
    CUfunction own_kernel(const char* name) const {
        CUfunction function;
        CHECK(ModuleGetFunction, &function, own, name);
        return function;
    }

    // Puts other data into the L2 cache. It is only read: lines that were written would have to go to memory while the
    // launch after this one is timed.
    void fill_cache() const {
        unsigned long long pieces = other->bytes / 16;
        void* arguments[] = {&other->address, &pieces};
        unsigned blocks = 8 * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        CHECK(LaunchKernel, own_kernel("sweep"), blocks, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
    }

    template <class B, class L>
    Times timed(B before, L launch) const {
        for (int i = 0; i < 3; ++i) {
            before();
            launch();
        }
        CHECK(CtxSynchronize);
        std::vector<double> times;
        double total = 0;
        auto began = std::chrono::steady_clock::now();
        while (times.size() < static_cast<size_t>(options.repeats) || (total < options.seconds && times.size() < 201)) {
            before();
            if (other) {
                fill_cache();
            }
            CHECK(EventRecord, start, nullptr);
            launch();
            CHECK(EventRecord, end, nullptr);
            CHECK(EventSynchronize, end);
            float milliseconds = 0;
            CHECK(EventElapsedTime, &milliseconds, start, end);
            times.push_back(milliseconds * 1e3);
            total = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        }
        std::sort(times.begin(), times.end());
        size_t n = times.size();
        double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
        return {median, times.front(), times.back(), n};
    }

    CUfunction function(const Case& of) {
        CUmodule& module = modules[of.theme];
        if (!module) {
            std::string ptx = content_of(ptx_path(of.theme));
            CHECK(ModuleLoadDataEx, &module, ptx.c_str(), 0, nullptr, nullptr);
        }
        CUfunction function;
        CHECK(ModuleGetFunction, &function, module, of.kernel.c_str());
        return function;
    }

    std::string ptx_path(const std::string& theme) const {
        return options.build + "/sm_" + std::to_string(target) + "/" + theme + ".ptx";
    }

    // Runs a case, checks it and measures it: its line of the table.
    std::string line(const Case& of, const Expectations& expectations) {
        CUfunction kernel = function(of);
        if (of.shared > 48 << 10) {
            CHECK(FuncSetAttribute, kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, of.shared);
        }
        int registers = 0;
        CHECK(FuncGetAttribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel);

        std::vector<std::unique_ptr<Given>> buffers(of.arguments.size());
        std::vector<std::array<unsigned char, 8>> values(of.arguments.size());
        std::vector<void*> pointers;
        for (size_t i = 0; i < of.arguments.size(); ++i) {
            const Argument& argument = of.arguments[i];
            if (argument.is_buffer) {
                bool is_checked = std::count(of.check.begin(), of.check.end(), static_cast<int>(i)) > 0;
                buffers[i] = std::make_unique<Given>(argument, is_checked);
                std::memcpy(values[i].data(), &buffers[i]->now.address, 8);
            } else {
                size_t offset = 0, size = 0;
                CHECK(FuncGetParamInfo, kernel, i, &offset, &size);
                float single = static_cast<float>(argument.number);
                const void* bytes = &argument.integer;
                if (argument.has_point) {
                    bytes = size == 4 ? static_cast<const void*>(&single) : &argument.number;
                }
                std::memcpy(values[i].data(), bytes, size);
            }
            pointers.push_back(values[i].data());
        }
        std::vector<unsigned> grid = extents(of.grid), block = extents(of.block);
        auto set_back = [&] {
            for (const auto& buffer : buffers) {
                if (buffer) {
                    buffer->set_back();
                }
            }
        };
        auto launch = [&] {
            CHECK(LaunchKernel, kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], of.shared, nullptr,
                  pointers.data(), nullptr);
        };

        set_back();
        launch();
        CHECK(CtxSynchronize);
        for (int at : of.check) {
            auto expected = expectations.find(of.name() + " " + std::to_string(at));
            if (expected == expectations.end()) {
                throw Failed{"expected.csv does not say what argument " + std::to_string(at) + " comes to"};
            }
            const Argument& argument = of.arguments[at];
            std::vector<unsigned char> found(argument.bytes());
            CHECK(MemcpyDtoH, found.data(), buffers[at]->now.address, found.size());
            std::string wrong = fault(of, argument, expected->second, found);
            if (!wrong.empty()) {
                throw Failed{"argument " + std::to_string(at) + ": " + wrong};
            }
        }
        std::ostringstream text;
        if (options.once) {
            text << of.name() << ": right\n";
            return text.str();
        }
        Times times = timed(set_back, launch);
        text << options.gpu << ',' << of.kernel << ',' << of.size << ',' << times.median - empty + options.latency << ',' << times.median << ',' << times.least << ','
             << times.most << ',' << times.count << ',' << management->clock_mhz(SM_CLOCK) << ",ptx/" << of.theme
             << ".ptx,\"" << of.grid << "\",\"" << of.block << "\"," << of.shared << ',' << registers << ",\""
             << of.args << "\"," << of.of_class << ',' << of.set << '\n';
        return text.str();
    }

    // Bytes of device memory that a case takes.
    static size_t bytes(const Case& of) {
        size_t total = 0;
        for (size_t i = 0; i < of.arguments.size(); ++i) {
            bool twice = of.arguments[i].content == "uniform" &&
                         std::count(of.check.begin(), of.check.end(), static_cast<int>(i)) > 0;
            total += of.arguments[i].bytes() * (twice ? 2 : 1);
        }
        return total;
    }

    int capability = 0, target = 0;

  private:
    const Options& options;
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUevent start = nullptr, end = nullptr;
    std::unique_ptr<Management> management;
    std::unique_ptr<Buffer> other;
    CUmodule own = nullptr;
    double empty = 0;
    std::map<std::string, CUmodule> modules;
};

Options parsed(int count, char** words) {
    Options options;
    std::filesystem::path own = std::filesystem::weakly_canonical(words[0]).parent_path();
    options.build = own.string();
    options.out = (own / "../../../measured").lexically_normal().string();
    for (int i = 0; i < count; ++i) {
        // Where this program lies is nobody's business but this machine's.
        options.command += i ? std::string(" ") + words[i] : "measure";
    }
    auto bad = [](const std::string& message) { throw BadInput{message + "; --help lists what there is"}; };
    for (int i = 1; i < count; ++i) {
        std::string word = words[i];
        if (word == "--help" || word == "-h") {
            std::fputs(HELP, stdout);
            std::exit(0);
        }
        if (word == "--once") {
            options.once = true;
            continue;
        }
        std::string value = i + 1 < count ? words[++i] : "";
        if (word == "--gpu") {
            options.gpu = value;
        } else if (word == "--device") {
            options.device = std::atoi(value.c_str());
        } else if (word == "--build") {
            options.build = value;
        } else if (word == "--out") {
            options.out = value;
        } else if (word == "--kernel") {
            options.kernel = value;
        } else if (word == "--size") {
            options.size = value;
        } else if (word == "--cache" && (value == "cold" || value == "warm")) {
            options.cache = value;
        } else if (word == "--repeats") {
            options.repeats = std::max(1, std::atoi(value.c_str()));
        } else if (word == "--seconds") {
            options.seconds = std::atof(value.c_str());
        } else if (word == "--latency") {
            options.latency = std::atof(value.c_str());
        } else {
            bad("no option `" + word + " " + value + "`");
        }
    }
    return options;
}

int run(const Options& options) {
    std::vector<Case> cases = read_cases(options.build + "/cases.tsv");
    Expectations expectations = read_expectations(options.build + "/expected.csv");
    driver = std::make_unique<Driver>();
    if (driver->missing) {
        std::fprintf(stderr, "nothing is measured: %s\n", driver->missing);
        return NO_GPU;
    }
    if (options.gpu.empty()) {
        throw BadInput{"--gpu says which GPU this is, as `warplens gpu list` names it"};
    }
    Runner runner(options);
    std::filesystem::path folder = std::filesystem::path(options.out) / options.gpu;
    std::ofstream table;
    if (!options.once) {
        std::filesystem::create_directories(folder / "ptx");
        table.open(folder / "suite.csv");
        table << runner.provenance()
              << "gpu,kernel,size,measured_us,event_us,least_us,most_us,repeats,sm_mhz,input,grid,block,shared,registers,args,"
                 "class,set\n";
    }
    size_t done = 0, failed = 0, left_out = 0;
    for (const Case& of : cases) {
        if (of.kernel.find(options.kernel) == std::string::npos || (!options.size.empty() && options.size != of.size)) {
            continue;
        }
        size_t free = 0, all = 0;
        CHECK(MemGetInfo, &free, &all);
        if (of.capability > runner.target || Runner::bytes(of) > free / 10 * 9) {
            std::fprintf(stderr, "%s: left out, %s\n", of.name().c_str(),
                         of.capability > runner.target ? "for a later GPU" : "more memory than there is");
            ++left_out;
            continue;
        }
        try {
            std::string line = runner.line(of, expectations);
            if (!options.once) {
                // The PTX that was measured stays beside the table, whose rows name it.
                std::filesystem::copy_file(runner.ptx_path(of.theme), folder / "ptx" / (of.theme + ".ptx"),
                                           std::filesystem::copy_options::overwrite_existing);
                table << line << std::flush;
            }
            std::printf("%s", line.c_str());
            ++done;
        } catch (const Failed& error) {
            std::fprintf(stderr, "%s: %s\n", of.name().c_str(), error.message.c_str());
            ++failed;
        }
        std::fflush(stdout);
    }
    std::fprintf(stderr, "%zu measured, %zu failed, %zu left out%s%s\n", done, failed, left_out,
                 options.once ? "" : ": ", options.once ? "" : (folder / "suite.csv").c_str());
    return failed ? WRONG : 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(parsed(count, words));
    } catch (const BadInput& error) {
        std::fprintf(stderr, "measure: %s\n", error.message.c_str());
        return USAGE;
    } catch (const Failed& error) {
        std::fprintf(stderr, "measure: %s\n", error.message.c_str());
        return WRONG;
    }
}
