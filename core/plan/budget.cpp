// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/budget.h"

#include "core/base/byte_count.h"
#include "core/base/text.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs::plan {

Result<std::uint64_t> parseBudget(const std::string& text, std::uint64_t elements) {
    constexpr std::string_view bits = "bpw";
    if (text.ends_with(bits)) {
        double value = 0;
        const char* end = text.data() + text.size() - bits.size();
        const auto [at, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && at == end && std::isfinite(value) && value > 0 && value <= 64)
            return std::uint64_t(std::floor(value * double(elements) / 8));
    } else if (const auto bytes = parseByteCount(text); bytes && *bytes > 0)
        return *bytes;
    return fail(
        fmt::format("'{}' is no budget: use bits per weight of the whole file, such as 4.5bpw, or its size, such "
                    "as 3.2GiB.",
                    escapeForPeople(text, 60)));
}

} // namespace qs::plan
