// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Normalizers change a text before it is cut into pieces. They are a chain of steps out of tokenizer.json.

#include "core/base/result.h"
#include "core/eval/tokenizer/tracked_text.h"

#include <nlohmann/json_fwd.hpp>
#include <span>

namespace qs::eval {

using Normalizers = std::vector<Rewrite>;

struct NormalizerRow {
    const char* id; ///< "type" in tokenizer.json
    /// Appends its steps. `step`: the value with this type. Errors are the end of a sentence: "has the pattern ...".
    Result<void> (*read)(const nlohmann::json& step, Normalizers& into);
};
std::span<const NormalizerRow> normalizers();

/// `step`: the value under "normalizer"; null: the text stays. Appends. Errors: "has the normalizer ...".
Result<void> readNormalizer(const nlohmann::json& step, Normalizers& into);

/// Runs the steps one after the other. Errors: a pattern that takes too many steps.
Result<void> normalize(const Normalizers& steps, TrackedText& text);

} // namespace qs::eval
