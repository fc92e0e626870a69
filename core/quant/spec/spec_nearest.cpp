// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/spec_nearest.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs {
namespace {

std::vector<std::string_view> formatIds() {
    std::vector<std::string_view> ids;
    for (const auto& format : formats()) ids.push_back(format.id);
    return ids;
}

/// One per key of a spec, the one that is forgotten first in front.
constexpr void (*kForget[])(QuantSpec&) = {
    [](QuantSpec& s) { s.compute.reset(); },
    [](QuantSpec& s) { s.decode.reset(); },
    [](QuantSpec& s) { s.bits.reset(); },
    [](QuantSpec& s) { s.stochastic.reset(); },
    [](QuantSpec& s) { s.sparsity.reset(); },
    [](QuantSpec& s) { s.calibration.reset(); },
    [](QuantSpec& s) { s.scaleType.reset(); },
    [](QuantSpec& s) { s.symmetric.reset(); },
    [](QuantSpec& s) { s.flat.reset(); },
    [](QuantSpec& s) { s.tiles.reset(); },
    [](QuantSpec& s) { s.scale = ScaleSpelling::Default; },
    [](QuantSpec& s) { s.axes.reset(), s.keepsOutput = false; },
    [](QuantSpec& s) { s.block.reset(); },
    [](QuantSpec& s) { s.dialect.reset(); },
    [](QuantSpec& s) { s.nan.reset(); },
};

} // namespace

tl::unexpected<Error> unknownFormat(std::string_view typed) {
    const auto ids = formatIds();
    if (const auto at = nearestWord(typed, ids)) {
        std::string lower(typed);
        for (char& c : lower)
            if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
        return advise(lower == ids[*at] ? "formats are written in lower case"
                                        : fmt::format("there is no format '{}'", escapeForPeople(typed, 40)),
                      {std::string(ids[*at])});
    }
    return advise(typed.empty() ? fmt::format("the format is missing; there are {}", fmt::join(ids, ", "))
                                : fmt::format("there is no format '{}'; there are {}", escapeForPeople(typed, 40),
                                              fmt::join(ids, ", ")),
                  {std::string(ids.front())});
}

QuantSpec nearestSpec(const QuantSpec& spec) {
    if (checkSpec(spec)) return spec;
    for (const auto& forget : kForget) {
        QuantSpec one = spec;
        forget(one);
        if (checkSpec(one)) return one;
    }
    for (const auto& first : kForget)
        for (const auto& second : kForget) {
            QuantSpec two = spec;
            first(two), second(two);
            if (checkSpec(two)) return two;
        }
    QuantSpec plain;
    plain.format = spec.format;
    return plain;
}

namespace {

constexpr std::size_t kMostAdvice = 3;

/// "nf4:block=63:nan=skip" with "block=64" in the place of its block, or at its end.
std::string withKey(std::string_view text, std::string_view keyValue) {
    const std::string key = fmt::format(":{}", keyValue.substr(0, keyValue.find('=') + 1));
    const auto at = text.find(key);
    if (at == text.npos) return fmt::format("{}:{}", text, keyValue);
    const auto end = std::min(text.find(':', at + 1), text.size());
    return fmt::format("{}:{}{}", text.substr(0, at), keyValue, text.substr(end));
}

} // namespace

std::vector<std::string> thoseThatWork(std::span<const std::string> candidates, std::string_view text,
                                       const QuantSpec& spec) {
    std::vector<std::string> works;
    const auto take = [&](std::string whole) {
        const bool right = readSpec(whole).done.has_value();
        if (right && works.size() < kMostAdvice && !std::count(works.begin(), works.end(), whole))
            works.push_back(std::move(whole));
        return right;
    };
    for (const std::string& one : candidates) {
        const bool isKey = one.find('=') < one.find(':');
        if (!isKey)
            take(one);
        else if (!take(withKey(text, one)))
            take(fmt::format("{}:{}", spec.format, one));
    }
    if (works.empty() && findFormat(spec.format)) works.push_back(specText(nearestSpec(spec)));
    return works;
}

std::vector<std::string> choices(std::string_view key, std::string_view typed, std::vector<std::string_view> values) {
    if (const auto at = nearestWord(typed, values))
        std::rotate(values.begin(), values.begin() + std::ptrdiff_t(*at), values.begin() + std::ptrdiff_t(*at) + 1);
    std::vector<std::string> out;
    for (const auto value : values) out.push_back(fmt::format("{}={}", key, value));
    return out;
}

} // namespace qs
