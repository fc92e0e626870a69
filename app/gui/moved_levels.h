// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Levels of a format that the user moved by hand or had learned on the codebook page; none: the format's own.

#include <QString>

#include <string>
#include <vector>

namespace qs::gui {

struct MovedLevels {
    std::string format;         ///< whose levels they replace
    std::vector<double> levels; ///< ascending; empty: nothing was moved
    QString how;                ///< they were learned like this; empty: moved by hand
    bool operator==(const MovedLevels&) const = default;
};

} // namespace qs::gui
