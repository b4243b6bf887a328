// Cases and what they must leave, from the tables that cases.py and expected.py write, and the content of buffers.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// The type of the elements of a buffer, such as f32.
struct Element {
    char kind;  // u, s or f
    int bits;

    size_t bytes() const { return bits / 8; }
};

// A value of a launch file: a number, or a buffer with its content.
struct Argument {
    bool is_buffer = false;
    bool has_point = false;  // A number for a parameter that is a float.
    double number = 0;
    int64_t integer = 0;
    Element element{};
    size_t count = 0;
    std::string content;  // zeros, uniform or values
    std::vector<double> words;

    explicit Argument(const std::string& text);
    size_t bytes() const { return count * element.bytes(); }
    std::vector<unsigned char> filled() const;
};

struct Case {
    std::string kernel, size, theme, of_class, set, grid, block, args;
    int capability = 0, shared = 0;
    std::vector<Argument> arguments;
    std::vector<int> check;
    double relative = 0, absolute = 0, share = 0;
    bool order = true;

    std::string name() const { return kernel + " " + size; }
};

struct Expected {
    size_t elements = 0;
    std::string sum;
    double magnitude = 0;
    std::vector<std::pair<size_t, double>> samples;
};

using Expectations = std::map<std::string, Expected>;  // By kernel, size and argument with spaces between them.

std::vector<Case> read_cases(const std::string& path);
Expectations read_expectations(const std::string& path);

// Three extents of `X`, `X,Y` or `X,Y,Z`.
std::vector<unsigned> extents(const std::string& text);

// What is wrong with the content of an argument after the launch, or nothing.
std::string fault(const Case& of, const Argument& argument, const Expected& expected,
                  const std::vector<unsigned char>& found);

// An error in what the runner was given.
struct BadInput {
    std::string message;
};
