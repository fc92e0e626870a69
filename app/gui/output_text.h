// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The text on which the model's output is measured, and what was measured of single tensors on it. The page Evidence
// sets it; the plan uses it.

#include "core/eval/run/evaluate.h"
#include "core/eval/sensitivity/sensitivity.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace qs::gui {

/// Rows by the way they were measured.
using SensitivityRows = std::map<std::string, std::vector<eval::SensitivityRow>>;

struct OutputText {
    std::string path; ///< empty: none was chosen
    bool ids = false; ///< it holds token ids
    std::size_t context = 512;
    std::size_t chunks = 0; ///< at most; 0: all
    eval::Scored scored = eval::Scored::SecondHalf;
    std::shared_ptr<const SensitivityRows> sensitivities; ///< on the first chunks; null: none was measured
    std::size_t measuredChunks = 0;                       ///< how many chunks they were measured on
    bool operator==(const OutputText&) const = default;
};

} // namespace qs::gui
