// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/byte_count.h"

#include "core/base/text.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs {

Result<std::uint64_t> parseByteCount(std::string_view text) {
    const auto refused = [&] {
        return fail(fmt::format("The size '{}' is not a number of bytes; write for instance 512MiB, 1.5GiB or 2GB.",
                                escapeForPeople(text, 60)));
    };
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || !(number >= 0)) return refused();
    std::string_view unit(end, std::size_t(text.data() + text.size() - end));
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    double factor = 1;
    if (!unit.empty() && unit != "B") {
        const auto power = std::string_view("KMGT").find(unit.front() == 'k' ? 'K' : unit.front());
        const std::string_view rest = unit.substr(1);
        if (power == std::string_view::npos || (!rest.empty() && rest != "iB" && rest != "B")) return refused();
        factor = std::pow(rest == "B" ? 1000.0 : 1024.0, double(power) + 1);
    }
    if (number * factor >= 0x1p63) return refused();
    return std::uint64_t(number * factor);
}

} // namespace qs
