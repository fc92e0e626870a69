// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/text.h"

#include <QString>

#include <algorithm>
#include <cmath>

namespace qs::gui {

/// A standard error with two digits, without an exponent down to 1e-9: "0.00031".
inline QString errorText(double error) {
    if (!(error >= 1e-9)) return QString::fromStdString(significantText(error, 2));
    const int decimals = std::clamp(1 - int(std::floor(std::log10(error))), 0, 10);
    return QString::fromStdString(fixedText(error, decimals));
}

} // namespace qs::gui
