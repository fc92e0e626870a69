// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Checkpoints for tests of audits, and the findings as text.

#include "core/analysis/audit/audit.h"
#include "core/base/random.h"
#include "core/layouts/layout.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/quantizer.h"
#include "core/report/report.h"
#include "kernels/small_float.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/thinned.h"
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace qs;
using namespace qs::test;

/// Normally distributed values. With `wide` > 0 each column has its own magnitude.
inline std::vector<float> normal(std::size_t rows, std::size_t columns, unsigned seed, float wide = 0) {
    std::mt19937 random(seed), ofColumns(99);
    std::normal_distribution<float> value(0, 0.02f), log(0, 1);
    std::vector<float> scale(columns, 1.0f), out;
    for (float& s : scale)
        if (wide > 0) s = std::exp(wide * log(ofColumns));
    for (std::size_t i = 0; i < rows * columns; ++i) out.push_back(value(random) * scale[i % columns]);
    return out;
}

template<class Encode> std::vector<std::uint16_t> halves(const std::vector<float>& values, Encode encode) {
    std::vector<std::uint16_t> out;
    for (const float v : values) out.push_back(encode(v));
    return out;
}

/// Every finding as "check tensor".
inline std::multiset<std::string> found(const std::shared_ptr<const Model>& model) {
    const auto result = auditModel(model, Job{});
    if (!result) qFatal("%s", result.error().message.c_str());
    std::multiset<std::string> out;
    for (const Finding& finding : result->findings) {
        if (finding.evidence.empty()) qFatal("no evidence");
        out.insert(finding.check->id + (" " + finding.tensor));
    }
    return out;
}
using Set = std::multiset<std::string>;

inline std::string shown(const Set& set) {
    std::string out;
    for (const auto& each : set) out += each + "; ";
    return out;
}
#define SAME(model, ...)                                                                                               \
    do {                                                                                                               \
        const Set is = found(model), expected = __VA_ARGS__;                                                           \
        QVERIFY2(is == expected, shown(is).c_str());                                                                   \
    } while (false)

/// Values decoded from quantization by `spec`.
inline std::vector<float> decoded(const QTemporaryDir& folder, const std::vector<float>& values, std::int64_t columns,
                                  const char* spec) {
    const auto model =
        opened(folder, {f32("x", {std::int64_t(values.size()) / columns, columns}, values)}, "decoded.safetensors");
    return materialize(*quantizeTensor(*model->view(model->tensors.front()), *parseSpec(spec), Job{}));
}
