// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/records/shard.h"

#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace qs {

std::string Shard::text() const { return fmt::format("{} of {}", index + 1, count); }

Result<Shard> parseShard(std::string_view text) {
    std::size_t number = 0, count = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, number);
    const bool hasSlash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
    const auto second = hasSlash ? std::from_chars(first.ptr + 1, end, count) : first;
    constexpr std::size_t most = 1'000'000;
    if (!hasSlash || second.ec != std::errc() || second.ptr != end || number < 1 || number > count || count > most)
        return fail(
            fmt::format("A shard is I/N with I from 1 to N, such as 2/4, not '{}'.", escapeForPeople(text, 40)));
    return Shard{number - 1, count};
}

bool ShardDealer::takes(double weight) {
    const double middle = total_ > 0 ? (before_ + weight / 2) / total_ : 0;
    before_ += weight;
    const auto owner = std::size_t(std::clamp(middle, 0.0, 1.0) * double(shard_.count));
    return std::min(owner, shard_.count - 1) == shard_.index;
}

} // namespace qs
