// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Analyses the first tensor of a model, for tests.

#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <random>

namespace qs::test {

inline TensorAnalysis analysed(const Model& model, const char* text, Detail detail = Detail::Inspect) {
    AnalysisOptions options;
    options.detail = detail;
    auto row = analyseTensor(model, model.tensors[0], *parseSpec(text), options, Job{});
    if (!row) qFatal("%s", row.error().message.c_str());
    return *row;
}

inline double figure(const TensorAnalysis& row, const char* id) {
    return findMetric(id)->value(row).value_or(std::nan(""));
}

template<class Distribution> std::vector<float> samples(std::size_t n, Distribution distribution) {
    std::mt19937 random(7);
    std::vector<float> values(n);
    for (float& value : values) value = float(distribution(random));
    return values;
}

} // namespace qs::test
