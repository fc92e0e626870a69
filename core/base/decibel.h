// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <optional>

namespace qs {

/// SQNR in dB of a normalized squared error ||E||^2 / ||W||^2: -10 log10(nmse). None where there is no error or none
/// was measured.
inline std::optional<double> sqnrDb(std::optional<double> nmse) {
    if (!nmse || !(*nmse > 0)) return std::nullopt;
    return -10 * std::log10(*nmse);
}

} // namespace qs
