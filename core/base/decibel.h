// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <limits>
#include <optional>

namespace qs {

/// SQNR in dB of a normalized squared error ||E||^2 / ||W||^2: -10 log10(nmse). None where there is no error or none
/// was measured.
inline std::optional<double> sqnrDb(std::optional<double> nmse) {
    if (!nmse || !(*nmse > 0)) return std::nullopt;
    return -10 * std::log10(*nmse);
}

/// The same for a cell of a table: infinite where there is no error, so that only what was not measured is said to be.
inline std::optional<double> sqnrCell(std::optional<double> nmse) {
    return nmse && *nmse == 0 ? std::numeric_limits<double>::infinity() : sqnrDb(nmse);
}

} // namespace qs
