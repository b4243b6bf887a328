#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace {

// Output `index` of SplitMix64 for a seed: docs/decisions/0004-random-generator.md.
uint64_t splitmix(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double unit(uint64_t seed, uint64_t index) { return (splitmix(seed, index) >> 11) * 0x1p-53; }

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) {
        size_t first = part.find_first_not_of(' ');
        parts.push_back(first == std::string::npos ? "" : part.substr(first));
    }
    return parts;
}

// The bits of the half-precision number nearest to a double in the range of normal numbers or below, ties to even.
uint16_t half_bits(double value) {
    if (value == 0) {
        return std::signbit(value) ? 0x8000 : 0;
    }
    int exponent;
    std::frexp(value, &exponent);
    // Below the normal numbers units stay 2^-24.
    exponent = std::max(exponent, -13);
    // Units of the last place: 11 bits with the leading one, which adds 1 to the exponent where it is there.
    double units = std::nearbyint(std::fabs(value) * std::ldexp(1.0, 11 - exponent));
    int bits = (exponent + 13) * 1024 + static_cast<int>(units);
    return static_cast<uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

template <class T>
T read(const unsigned char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void put(unsigned char* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

void store(Element element, unsigned char* to, double value) {
    if (element.kind == 'f') {
        element.bits == 16   ? put(to, half_bits(value))
        : element.bits == 32 ? put(to, static_cast<float>(value))
                             : put(to, value);
        return;
    }
    // Two's complement, of which a shorter type keeps the lower bits.
    uint64_t whole = value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
    std::memcpy(to, &whole, element.bytes());
}

double as_double(Element element, const unsigned char* from) {
    if (element.kind == 'f') {
        return element.bits == 16   ? half_value(read<uint16_t>(from))
               : element.bits == 32 ? read<float>(from)
                                    : read<double>(from);
    }
    uint64_t bits = 0;
    std::memcpy(&bits, from, element.bytes());
    if (element.kind == 's') {
        int unused = 64 - element.bits;
        return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
    }
    return static_cast<double>(bits);
}

uint64_t as_bits(Element element, const unsigned char* from) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, element.bytes());
    if (element.kind == 's') {
        int unused = 64 - element.bits;
        bits = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
    }
    return bits;
}

// Does something for parts of a range on all cores.
template <class F>
void in_parallel(size_t count, F work) {
    size_t threads = std::max(1u, std::thread::hardware_concurrency()), each = (count + threads - 1) / threads;
    std::vector<std::thread> running;
    for (size_t first = 0; first < count; first += each) {
        running.emplace_back([=] { work(first, std::min(first + each, count)); });
    }
    for (auto& thread : running) {
        thread.join();
    }
}

std::ifstream opened(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw BadInput{"cannot read " + path};
    }
    return file;
}

}  // namespace

Argument::Argument(const std::string& text) {
    size_t open = text.find('['), close = text.find(']');
    if (open == std::string::npos) {
        has_point = text.find_first_of(".e") != std::string::npos;
        number = std::stod(text);
        integer = has_point ? 0 : std::stoll(text);
        return;
    }
    is_buffer = true;
    element = {text[0], std::stoi(text.substr(1, open - 1))};
    count = std::stoull(text.substr(open + 1, close - open - 1));
    content = "zeros";
    size_t colon = text.find(':', close), bracket = text.find('(', close);
    if (colon != std::string::npos) {
        content = text.substr(colon + 1, bracket - colon - 1);
        for (const auto& word : split(text.substr(bracket + 1, text.rfind(')') - bracket - 1), ',')) {
            words.push_back(std::stod(word));
        }
    }
    bool known = content == "zeros" || (content == "uniform" && words.size() == 3) ||
                 (content == "values" && words.size() == count);
    if (!known) {
        throw BadInput{text + ": no such content"};
    }
}

std::vector<unsigned char> Argument::filled() const {
    std::vector<unsigned char> data(bytes());
    size_t size = element.bytes();
    if (content == "values") {
        for (size_t i = 0; i < count; ++i) {
            store(element, &data[i * size], words[i]);
        }
    } else if (content == "uniform") {
        double low = words[0], width = words[1] - words[0];
        auto seed = static_cast<uint64_t>(words[2]);
        in_parallel(count, [&](size_t first, size_t end) {
            for (size_t i = first; i < end; ++i) {
                double drawn = unit(seed, i);
                double value = element.kind == 'f' ? low + drawn * width : std::floor(low + drawn * (width + 1));
                store(element, &data[i * size], value);
            }
        });
    }
    return data;
}

std::vector<Case> read_cases(const std::string& path) {
    std::ifstream file = opened(path);
    std::vector<Case> cases;
    std::string line;
    std::getline(file, line);
    std::vector<std::string> columns = split(line, '\t');
    while (std::getline(file, line)) {
        std::vector<std::string> fields = split(line, '\t');
        if (fields.size() != columns.size()) {
            throw BadInput{path + ": a line has not as many fields as there are columns: " + line};
        }
        auto field = [&](const char* column) -> const std::string& {
            auto at = std::find(columns.begin(), columns.end(), column);
            if (at == columns.end()) {
                throw BadInput{path + " has no column " + column};
            }
            return fields[at - columns.begin()];
        };
        Case one;
        one.kernel = field("kernel");
        one.size = field("size");
        one.theme = field("theme");
        one.of_class = field("class");
        one.set = field("set");
        one.grid = field("grid");
        one.block = field("block");
        one.args = field("args");
        one.capability = std::stoi(field("capability"));
        one.shared = std::stoi(field("shared"));
        for (const auto& text : split(one.args, ';')) {
            one.arguments.emplace_back(text);
        }
        for (const auto& at : split(field("check"), ',')) {
            one.check.push_back(std::stoi(at));
        }
        one.relative = std::stod(field("relative"));
        one.absolute = std::stod(field("absolute"));
        one.share = std::stod(field("share"));
        one.order = field("order") == "order";
        cases.push_back(one);
    }
    return cases;
}

Expectations read_expectations(const std::string& path) {
    std::ifstream file = opened(path);
    Expectations all;
    bool is_heading = true;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') {
            continue;
        }
        if (is_heading) {
            is_heading = false;
            continue;
        }
        std::vector<std::string> fields = split(line, ',');
        Expected& expected = all[fields[0] + " " + fields[1] + " " + fields[2]];
        expected.elements = std::stoull(fields[3]);
        expected.sum = fields[4];
        expected.magnitude = std::stod(fields[5]);
        for (const auto& sample : split(fields.size() > 6 ? fields[6] : "", ' ')) {
            size_t colon = sample.find(':');
            expected.samples.emplace_back(std::stoull(sample), std::stod(sample.substr(colon + 1)));
        }
    }
    return all;
}

std::vector<unsigned> extents(const std::string& text) {
    std::vector<unsigned> result;
    for (const auto& part : split(text, ',')) {
        result.push_back(std::stoul(part));
    }
    result.resize(3, 1);
    return result;
}

std::string fault(const Case& of, const Argument& argument, const Expected& expected,
                  const std::vector<unsigned char>& found) {
    Element element = argument.element;
    size_t size = element.bytes();
    if (argument.count != expected.elements) {
        return "there are " + std::to_string(argument.count) + " elements instead of " +
               std::to_string(expected.elements);
    }
    auto value = [&](size_t i) { return as_double(element, &found[i * size]); };
    for (auto [at, wanted] : expected.samples) {
        // Not below, so that a NaN is wrong.
        if (!(std::fabs(value(at) - wanted) <= of.absolute + of.relative * std::fabs(wanted))) {
            std::ostringstream text;
            text.precision(17);
            text << "[" << at << "] is " << value(at) << " instead of " << wanted;
            return text.str();
        }
    }
    if (element.kind != 'f' && of.share == 0) {
        uint64_t sum = 0;
        for (size_t i = 0; i < argument.count; ++i) {
            sum += as_bits(element, &found[i * size]) * (of.order ? splitmix(7, i) | 1 : 1);
        }
        return sum == std::stoull(expected.sum)
                   ? ""
                   : "the weighted sum is " + std::to_string(sum) + " instead of " + expected.sum;
    }
    double sum = 0, weights = 0, wanted = std::stod(expected.sum);
    for (size_t i = 0; i < argument.count; ++i) {
        double weight = 1 + unit(7, i);
        sum += weight * value(i);
        weights += weight;
    }
    // An element of those that may be wrong may be off by some times what elements are in the mean; sums themselves are
    // rounded.
    double relative = of.relative + 10 * of.share + 1e-12;
    if (!(std::fabs(sum - wanted) <= relative * expected.magnitude + of.absolute * weights)) {
        std::ostringstream text;
        text.precision(17);
        text << "the weighted sum is " << sum << " instead of " << wanted;
        return text.str();
    }
    return "";
}
