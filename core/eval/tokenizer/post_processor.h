// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Post-processors put tokens before and after a text.

#include "core/base/result.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace qs::eval {

struct Frame {
    std::vector<std::int32_t> before, after;
};

struct PostProcessorRow {
    const char* id; ///< "type" in tokenizer.json
    /// `ids`: ids are below. Errors are the end of a sentence: "has no id for the special token ...".
    Result<void> (*read)(const nlohmann::json& step, std::int32_t ids, Frame& into);
};
std::span<const PostProcessorRow> postProcessors();

/// `step`: the value under "post_processor"; null: nothing is put. Errors: "has the post-processor ...".
Result<void> readPostProcessor(const nlohmann::json& step, std::int32_t ids, Frame& into);

} // namespace qs::eval
