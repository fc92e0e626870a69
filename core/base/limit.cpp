// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/limit.h"

#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs {

Result<Limit> parseLimit(const std::string& text, std::span<const LimitKind> kinds) {
    const auto at = text.find('>');
    const std::string id = text.substr(0, at);
    const auto kind = std::ranges::find_if(kinds, [&](const LimitKind& one) { return one.id == id; });
    if (kind == kinds.end()) {
        std::string known;
        for (const LimitKind& one : kinds)
            known += fmt::format("{}{}{}", known.empty() ? "" : ", ", one.id, one.isFigure ? ">NUMBER" : "");
        return fail(fmt::format("{} is none of {}", escapeForPeople(text, 60), known));
    }
    Limit limit{std::size_t(kind - kinds.begin()), 0, text};
    if (at == text.npos) {
        if (kind->isFigure) return fail(fmt::format("{} needs a number, as in {}>0.01", id, id));
        return limit;
    }
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + at + 1, end, limit.most);
    if (error != std::errc() || stop != end || !std::isfinite(limit.most) || limit.most < 0)
        return fail(fmt::format("{} does not end with a number of 0 or more", escapeForPeople(text, 60)));
    return limit;
}

Result<std::vector<Limit>> parseLimits(const std::vector<std::string>& texts, std::span<const LimitKind> kinds) {
    std::vector<Limit> out;
    for (const std::string& text : texts) {
        auto limit = parseLimit(text, kinds);
        if (!limit) return tl::unexpected(limit.error());
        out.push_back(std::move(*limit));
    }
    return out;
}

} // namespace qs
