// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/short_name.h"

#include "core/base/text.h"

#include <algorithm>

namespace qs {
namespace {

constexpr std::size_t kMostParts = 32; // an untrusted name may have a million dots
constexpr std::size_t kMostChars = 500;

bool hasDigit(std::string_view part) {
    return std::ranges::any_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

/// The first part with its separator, e.g. "model."; the last part of a name has none.
std::string_view firstPart(std::string_view name) {
    const auto dot = name.find_first_of("./");
    return dot == std::string_view::npos ? name : name.substr(0, dot + 1);
}

/// The last part with its separator, e.g. ".weight"; empty if the name has one part.
std::string_view lastPart(std::string_view name) {
    const auto dot = name.find_last_of("./");
    return dot == std::string_view::npos ? std::string_view() : name.substr(dot);
}

std::uint64_t nameHash(std::string_view text) { return std::hash<std::string_view>()(text); }

std::size_t nameChars(std::string_view text) {
    return std::size_t(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

struct NameParts {
    std::vector<std::string_view> text; ///< each with the separator that follows
    std::vector<bool> kept;

    explicit NameParts(std::string_view name) {
        while (!name.empty() && text.size() + 1 < kMostParts) {
            text.push_back(firstPart(name));
            name.remove_prefix(text.back().size());
        }
        if (!name.empty()) text.push_back(name);
        kept.assign(text.size(), true);
    }
    std::string joined(std::size_t end, std::string_view last) const {
        std::string out;
        for (std::size_t i = 0; i + 1 < end; ++i) {
            if (kept[i])
                out += text[i];
            else if (i == 0 || kept[i - 1])
                out += "…";
        }
        return out += last;
    }
};

/// made(c) with the largest c in [low, high] whose text fits; c = low if none does.
template<class Made>
std::string longestThatFits(std::size_t low, std::size_t high, const Made& made, const Fits& fits) {
    while (low < high) {
        const std::size_t middle = (low + high + 1) / 2;
        if (fits(made(middle)))
            low = middle;
        else
            high = middle - 1;
    }
    return made(low);
}

/// The value of more than half of the list, found by a majority vote, because a list may be long. A value of exactly
/// half of it may be found too. Empty if there is none.
template<class Value> std::string_view frequent(std::size_t count, const Value& value) {
    std::string_view candidate;
    std::size_t votes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view one = value(i);
        if (votes == 0) candidate = one;
        one == candidate ? ++votes : --votes;
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) found += value(i) == candidate;
    return 2 * found >= count ? candidate : std::string_view();
}

} // namespace

std::string nameWithin(std::string_view name, const Fits& fits) {
    if (name.size() > 4 * kMostChars) return nameWithin(escapeForPeople(name, kMostChars), fits);
    if (fits(name)) return std::string(name);
    NameParts parts(name);
    std::size_t end = parts.text.size();
    if (end == 0) return {};
    std::string_view last = parts.text.back();
    if (end > 1 && (last == "weight" || last == "kernel")) {
        --end;
        last = parts.text[end - 1];
        last.remove_suffix(1);
    }
    std::string out = parts.joined(end, last);
    for (std::size_t i = 0; i + 1 < end && !fits(out); ++i) {
        if (hasDigit(parts.text[i])) continue;
        parts.kept[i] = false;
        out = parts.joined(end, last);
    }
    const auto withWord = [&](std::size_t chars) { return parts.joined(end, escapeForPeople(last, chars)); };
    if (!fits(out) && !(end > 1 && hasDigit(last))) {
        const std::size_t whole = nameChars(last);
        out = longestThatFits(std::min<std::size_t>(4, whole), whole, withWord, fits);
    }
    if (fits(out)) return out;
    // The numbers alone are too long: shorten the whole text.
    return longestThatFits(
        1, nameChars(out), [&](std::size_t chars) { return escapeForPeople(out, chars); }, fits);
}

std::string nameWithin(std::string_view name, std::size_t chars) {
    return nameWithin(name, [chars](std::string_view text) { return nameChars(text) <= chars; });
}

SharedParts::SharedParts(std::size_t count, const std::function<std::string_view(std::size_t)>& name) {
    if (count < 2) return;
    // What follows the parts found so far; empty for names that begin differently.
    std::vector<std::string_view> rest(count);
    for (std::size_t i = 0; i < count; ++i) rest[i] = name(i);
    while (front_.size() < kMostParts) {
        const auto next = frequent(count, [&](std::size_t i) { return firstPart(rest[i]); });
        if (next.find_last_of("./") == std::string_view::npos || hasDigit(next)) break;
        front_.emplace_back(next);
        for (auto& text : rest) text = text.starts_with(next) ? text.substr(next.size()) : std::string_view();
    }
    const auto ending = frequent(count, [&](std::size_t i) { return lastPart(name(i)); });
    if (!hasDigit(ending)) back_ = ending;
    if (front_.empty() && back_.empty()) return;
    std::vector<std::uint64_t> hashes(count);
    for (std::size_t i = 0; i < count; ++i) hashes[i] = nameHash(cut(name(i)));
    std::ranges::sort(hashes);
    for (std::size_t i = 1; i < count; ++i)
        if (hashes[i] == hashes[i - 1]) ambiguous_.push_back(hashes[i]);
}

std::string_view SharedParts::cut(std::string_view name) const {
    for (const auto& part : front_) {
        if (!name.starts_with(part) || name.size() == part.size()) break;
        name.remove_prefix(part.size());
    }
    if (!back_.empty() && name.size() > back_.size() && name.ends_with(back_)) name.remove_suffix(back_.size());
    return name;
}

std::string_view SharedParts::brief(std::string_view name) const {
    const auto text = cut(name);
    return std::binary_search(ambiguous_.begin(), ambiguous_.end(), nameHash(text)) ? name : text;
}

std::string SharedParts::sentence() const {
    std::string front;
    for (const auto& part : front_) front += part;
    if (front.empty() && back_.empty()) return {};
    const auto quoted = [](const std::string& text) { return "\"" + escapeForPeople(text, 60) + "\""; };
    const char* both = front.empty() || back_.empty() ? "" : " and ";
    return "Names are without " + (front.empty() ? "" : quoted(front)) + both + (back_.empty() ? "" : quoted(back_)) +
           ".";
}

} // namespace qs
