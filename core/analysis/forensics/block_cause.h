// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>
#include <string>

namespace qs {

struct BlockCause {
    std::string name; ///< "ordinary", "outlier-dominated", ...
    std::string tip;  ///< one sentence with the figure that decided
};
/// Classifies why a block has its error. `values`: the block. `rowAbsMax`: the largest magnitude in its neighbourhood.
BlockCause causeOf(std::span<const float> values, double rowAbsMax);

} // namespace qs
