// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Named inputs that are difficult for kernels.

#include "kernels/kernel_set.h"
#include "kernels/nf4_thresholds.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace qs::test {

inline const std::vector<std::size_t> kLengths = {0,  1,  2,  3,  7,   8,   15,  16,   17,   31,
                                                  33, 63, 64, 65, 127, 129, 255, 1023, 1024, 2500};

struct Input {
    std::string name;
    bool finite = true;
    std::vector<float> (*make)(std::size_t n);
};

inline std::vector<float> normalValues(std::size_t n, float scale = 1) {
    std::mt19937 engine{unsigned(n) + 7};
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> x(n);
    for (auto& value : x) value = normal(engine);
    return x;
}

/// Values at every decision boundary of int8 and nf4, and one ulp on each side. The scale is given by `absMax`, the
/// largest value, which comes first.
inline std::vector<float> decisionValues(std::size_t n, float absMax) {
    std::vector<float> x;
    x.push_back(absMax);
    const auto around = [&x](float v) {
        for (const float value : {std::nextafter(v, -FLT_MAX), v, std::nextafter(v, FLT_MAX)}) x.push_back(value);
    };
    for (std::size_t i = 0; x.size() < n; ++i) {
        if (i % 2)
            around((float(int(i / 2) % 254 - 127) + 0.5f) * (absMax / 127.0f)); // int8: boundaries are half-integers
        else
            around(nf4Thresholds().threshold[i / 2 % 15] * absMax);
    }
    x.resize(n);
    return x;
}

inline std::vector<float> mixed(std::size_t n, std::initializer_list<float> values) {
    auto x = normalValues(n);
    std::mt19937 engine{unsigned(n)};
    for (auto& value : x)
        if (engine() % 3 == 0) value = values.begin()[engine() % values.size()];
    return x;
}

inline const std::vector<Input>& inputs() {
    static constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    static const std::vector<Input> all = {
        {"normal", true, [](std::size_t n) { return normalValues(n); }},
        {"small weights", true, [](std::size_t n) { return normalValues(n, 0.02f); }},
        {"all zero", true, [](std::size_t n) { return std::vector<float>(n, 0.0f); }},
        {"minus zero", true,
         [](std::size_t n) {
             return mixed(n, {-0.0f, 0.0f});
         }},
        {"constant", true, [](std::size_t n) { return std::vector<float>(n, -0.37f); }},
        {"denormals", true, [](std::size_t n) { return normalValues(n, 1e-41f); }},
        {"one denormal step", true,
         [](std::size_t n) {
             return mixed(n, {FLT_TRUE_MIN, -FLT_TRUE_MIN});
         }},
        {"around FLT_MIN", true, [](std::size_t n) { return normalValues(n, FLT_MIN); }},
        {"squares overflow", true, [](std::size_t n) { return normalValues(n, 1e30f); }},
        {"FLT_MAX", true,
         [](std::size_t n) {
             return mixed(n, {FLT_MAX, -FLT_MAX, 1e37f});
         }},
        {"decisions at 1", true, [](std::size_t n) { return decisionValues(n, 1.0f); }},
        {"decisions at 0.7", true, [](std::size_t n) { return decisionValues(n, 0.7f); }},
        {"decisions at 3e-38", true, [](std::size_t n) { return decisionValues(n, 3e-38f); }},
        {"outlier", true,
         [](std::size_t n) {
             auto x = normalValues(n, 0.01f);
             if (n) x[n / 2] = 100;
             return x;
         }},
        {"NaN", false, [](std::size_t n) { return mixed(n, {nan}); }},
        {"Inf", false,
         [](std::size_t n) {
             return mixed(n, {inf, -inf});
         }},
        {"one NaN", false,
         [](std::size_t n) {
             auto x = normalValues(n);
             if (n) x[n - 1] = nan;
             return x;
         }},
        {"all not finite", false,
         [](std::size_t n) {
             std::vector<float> x(n, nan);
             for (std::size_t i = 0; i < n; i += 2) x[i] = i % 4 ? inf : -inf;
             return x;
         }},
    };
    return all;
}

template<class T> bool sameBits(const T* a, const T* b, std::size_t n) {
    return n == 0 || std::memcmp(a, b, n * sizeof(T)) == 0;
}
template<class T> bool sameBits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && sameBits(a.data(), b.data(), a.size());
}

} // namespace qs::test
