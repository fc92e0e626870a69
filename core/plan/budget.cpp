// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/budget.h"

#include "core/base/byte_count.h"
#include "core/base/text.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs::plan {
namespace {

struct TimeUnit {
    std::string_view text;
    double ns;
};
constexpr TimeUnit kTimeUnits[] = {{"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}, {"s", 1e9}};
constexpr double kLongestTime = 1e15; ///< nanoseconds, eleven days

/// The whole text is a number above 0.
std::optional<double> positiveIn(std::string_view text) {
    double value = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || at != text.data() + text.size() || !std::isfinite(value) || value <= 0) return {};
    return value;
}

tl::unexpected<Error> noBudget(const std::string& text) {
    return fail(
        fmt::format("'{}' is no budget: use bits per weight of the whole file, such as 4.5bpw, its size, such as "
                    "3.2GiB, or a time of all products, such as 12ms.",
                    escapeForPeople(text, 60)));
}

} // namespace

Result<std::uint64_t> parseBudget(const std::string& text, std::uint64_t elements) {
    constexpr std::string_view bits = "bpw";
    if (text.ends_with(bits)) {
        const auto value = positiveIn(std::string_view(text).substr(0, text.size() - bits.size()));
        if (value && *value <= 64) return std::uint64_t(std::floor(*value * double(elements) / 8));
    } else if (const auto bytes = parseByteCount(text); bytes && *bytes > 0)
        return *bytes;
    return noBudget(text);
}

Result<std::optional<std::uint64_t>> parseTime(const std::string& text) {
    for (const TimeUnit& unit : kTimeUnits) {
        if (!text.ends_with(unit.text)) continue;
        const auto value = positiveIn(std::string_view(text).substr(0, text.size() - unit.text.size()));
        if (!value || *value * unit.ns > kLongestTime || *value * unit.ns < 1) return noBudget(text);
        return std::optional(std::uint64_t(std::floor(*value * unit.ns)));
    }
    return std::optional<std::uint64_t>();
}

Result<Budget> parseBudgets(std::span<const std::string> texts, std::uint64_t elements) {
    Budget out;
    for (const std::string& text : texts) {
        const auto time = parseTime(text);
        if (!time) return tl::unexpected(time.error());
        auto& part = *time ? out.ns : out.bytes;
        if (part)
            return fail(fmt::format("Two budgets of {} were given; the second one, {}, must be a {}.",
                                    *time ? "time" : "size", escapeForPeople(text, 60), *time ? "size" : "time"));
        if (*time) {
            part = **time;
            continue;
        }
        const auto bytes = parseBudget(text, elements);
        if (!bytes) return tl::unexpected(bytes.error());
        part = *bytes;
    }
    return out;
}

std::string timeText(double ns) {
    const auto with = [&](double unit, const char* text) { return significantText(ns / unit, 4) + ' ' + text; };
    return ns >= 1e9 ? with(1e9, "s") : ns >= 1e6 ? with(1e6, "ms") : ns >= 1e3 ? with(1e3, "µs") : with(1, "ns");
}

} // namespace qs::plan
