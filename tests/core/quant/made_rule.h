// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tensors in memory, quantized by the text of a spec.

#include "core/base/parallel.h"
#include "core/quant/encode/encode.h"
#include "core/quant/encode/quantizer.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/code_set.h"
#include "tests/support/golden.h"
#include <QtTest>
#include <cmath>
#include <random>

using namespace qs;
using namespace qs::test;

struct Held {
    TensorInfo info;
    std::vector<float> values;
    TensorView view() const { return {&info, std::as_bytes(std::span(values)), nullptr}; }
};
inline Held held(std::vector<float> values, std::vector<std::int64_t> shape) {
    Held out;
    out.values = std::move(values);
    out.info.name = std::string("x"), out.info.shape = std::move(shape), out.info.dtype = DType::F32;
    out.info.elements = out.values.size(), out.info.bytes = 4 * out.values.size();
    return out;
}

inline QuantSpec specOf(const std::string& text) {
    const auto spec = parseSpec(text);
    if (!spec) qFatal("%s", spec.error().message.c_str());
    return *spec;
}
inline SharedPlan planOf(const std::string& text) { return composedPlan(specOf(text)); }
inline QuantizedTensor quantized(const Held& x, const std::string& spec) {
    auto out = quantizeTensor(x.view(), specOf(spec), Job{});
    if (!out) qFatal("%s: %s", spec.c_str(), out.error().message.c_str());
    return std::move(*out);
}

inline std::vector<float> normalValues(std::size_t n, std::uint64_t seed = 1) {
    std::mt19937_64 bits(seed);
    std::normal_distribution<double> normal;
    std::vector<float> out(n);
    for (float& x : out) x = float(normal(bits));
    return out;
}

inline double sqnr(const Held& x, const std::string& spec) {
    const auto back = materialize(quantized(x, spec));
    double error = 0, energy = 0;
    for (std::size_t i = 0; i < back.size(); ++i) {
        const double w = double(x.values[i]), e = double(back[i]) - w;
        error += e * e, energy += w * w;
    }
    return 10 * std::log10(energy / error);
}
