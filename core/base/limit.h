// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Conditions under which a check fails, as people write them: "differs", "nmse>0.01".

#include "core/base/result.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qs {

/// A word that a condition may begin with.
struct LimitKind {
    std::string id;
    std::string summary;   ///< what fails, for people
    bool isFigure = false; ///< a number must follow: ID>NUMBER; else ID alone means that there is any
};
struct Limit {
    std::size_t kind = 0; ///< index of its LimitKind
    double most = 0;      ///< it fails above this
    std::string text;     ///< as it was written
};
/// ID, or ID>NUMBER. Error: another text, with the words that there are.
Result<Limit> parseLimit(const std::string& text, std::span<const LimitKind> kinds);
Result<std::vector<Limit>> parseLimits(const std::vector<std::string>& texts, std::span<const LimitKind> kinds);

} // namespace qs
