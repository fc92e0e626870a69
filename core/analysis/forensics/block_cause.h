// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>
#include <string>

namespace qs {

struct BlockCause {
    std::string name; ///< "ordinary", "outlier-dominated", ...
    std::string tip;  ///< one sentence with the figure that decided
};
/// Why a block has the error that it has, from its values; `rowAbsMax` is the largest magnitude around it.
BlockCause causeOf(std::span<const float> values, double rowAbsMax);

} // namespace qs
