// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Levels that the user moved by hand, or had learned, on the codebook page. Empty: the format's own levels apply.

#include <QString>

#include <string>
#include <vector>

namespace qs::gui {

struct MovedLevels {
    std::string format;         ///< id of the format whose levels are replaced
    std::vector<double> levels; ///< ascending; empty: no level was moved
    QString how;                ///< how the levels were learned; empty: they were moved by hand
    bool operator==(const MovedLevels&) const = default;
};

} // namespace qs::gui
