// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/norm_name.h"

namespace qs {

bool saysNorm(std::string_view name) {
    const auto isLetter = [](char c) { return c >= 'a' && c <= 'z'; };
    for (auto at = name.find("norm"); at != std::string_view::npos; at = name.find("norm", at + 1)) {
        const std::string_view rest = name.substr(at + 4);
        if (rest.empty() || !isLetter(rest.front()) || rest.starts_with("aliz") || rest.starts_with("alis") ||
            rest.starts_with("s.") || rest == "s")
            return true;
    }
    return false;
}

} // namespace qs
