// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/spec_nearest.h"

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

std::optional<std::string_view> nearestFormat(std::string_view typed) {
    const auto ids = formatIds();
    const auto at = nearestWord(typed, ids);
    return at ? std::optional(ids[*at]) : std::nullopt;
}

std::string nearestFormats(std::string_view typed) {
    if (const auto nearest = nearestFormat(typed)) return std::string(*nearest);
    const auto ids = formatIds();
    return fmt::format("{} or one of {}", ids.front(), fmt::join(ids.begin() + 1, ids.end(), ", "));
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

bool namesWhatWorks(std::string_view sentence) { return sentence.find(" use ") != std::string_view::npos; }

std::string withNearest(std::string_view sentence, const QuantSpec& spec) {
    const bool more = sentence.find(": ") != std::string_view::npos;
    return fmt::format("{}{} use {}", sentence, more ? ";" : ":", specText(nearestSpec(spec)));
}

std::string withWhatWorks(std::string_view sentence, const QuantSpec& spec) {
    // A trial that is refused says so to nobody: advice for it would be tried in turn, without an end.
    static thread_local bool isTrial = false;
    if (isTrial) return std::string(sentence);
    const auto use = sentence.find(" use ");
    if (use == std::string_view::npos) return withNearest(sentence, spec);
    std::string_view advice = sentence.substr(use + 5);
    if (advice.starts_with("for example ")) advice.remove_prefix(12);
    // Of all that could be written, what the rest of this spec goes with.
    std::vector<std::string> works;
    std::string_view rest = advice;
    bool lastWorks = false;
    for (;;) {
        const auto end = std::min(rest.find_first_of(" ;"), rest.size());
        std::string one(rest.substr(0, end));
        rest.remove_prefix(end);
        if (one.ends_with(',')) one.pop_back();
        isTrial = true;
        lastWorks = parseSpec(one) || parseSpec(spec.format + ":" + one);
        isTrial = false;
        if (lastWorks) works.push_back(std::move(one));
        if (!rest.starts_with(" or ")) break;
        rest.remove_prefix(4);
    }
    if (!works.empty()) // what follows is about the last one
        return fmt::format("{}{}{}", sentence.substr(0, sentence.size() - advice.size()), fmt::join(works, " or "),
                           lastWorks ? rest : std::string_view());
    std::string_view before = sentence.substr(0, use);
    if (before.ends_with(':') || before.ends_with(';')) before.remove_suffix(1);
    return withNearest(before, spec);
}

std::vector<std::string_view> nearestFirst(std::string_view typed, std::vector<std::string_view> words) {
    if (const auto at = nearestWord(typed, words))
        std::rotate(words.begin(), words.begin() + std::ptrdiff_t(*at), words.begin() + std::ptrdiff_t(*at) + 1);
    return words;
}

} // namespace qs
