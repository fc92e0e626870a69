// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Sensitivities of a small network over a text of random tokens.

#include "core/eval/sensitivity/sensitivity.h"

#include <QtGlobal>

namespace qs::eval::test {

inline constexpr auto kFolder = "tests/data/eval/smollm3"; ///< five layers, 96 tokens, at most 64 positions
inline constexpr std::size_t kContext = 48, kChunks = 3;

inline std::shared_ptr<const Model> network() {
    const auto model = openModel(kFolder);
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

/// Tokens at random: a linear congruential generator.
inline EvaluationText text() {
    EvaluationText out;
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < kContext * kChunks; ++i) {
        state = state * 1664525u + 1013904223u;
        out.tokens.push_back(std::int32_t((state >> 16) % 96));
    }
    out.first = 10; // as a tokenizer with a token before every text
    return out;
}

inline SensitivityPlan planOf(const char* how, std::initializer_list<const char*> specs) {
    SensitivityPlan plan;
    plan.text = text();
    plan.context = kContext, plan.chunks = kChunks;
    plan.how = findSensitivityHow(how);
    for (const char* spec : specs) plan.specs.push_back(*parseSpec(spec));
    return plan;
}

inline Sensitivity measured(const SensitivityPlan& plan) {
    auto result = sensitivity(network(), plan, Job());
    if (!result) qFatal("%s", result.error().message.c_str());
    return std::move(*result);
}

} // namespace qs::eval::test
