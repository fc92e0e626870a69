// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/matcher.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/layouts/select.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kLongestRegex = 8000; ///< characters
/// Limits of one match, for PCRE, which QRegularExpression uses: steps, and memory in KiB.
constexpr const char* kLimits = "(*LIMIT_MATCH=200000)(*LIMIT_HEAP=8192)";
constexpr std::string_view kMeta = "\\^$.|?*+()[]{}";

bool isRegex(Matching how) {
    return how == Matching::Search || how == Matching::Full || how == Matching::Prefix || how == Matching::Within;
}

/// Whether `c` is in the set that begins at `at`, behind its bracket; moves `at` behind the set. None: it has no end.
std::optional<bool> inSet(std::string_view glob, std::size_t& at, char c) {
    std::size_t i = at;
    const bool isNot = i < glob.size() && glob[i] == '!';
    i += isNot;
    bool found = false;
    for (bool first = true; i < glob.size() && (first || glob[i] != ']'); first = false) {
        const char low = glob[i];
        const bool isRange = i + 2 < glob.size() && glob[i + 1] == '-' && glob[i + 2] != ']';
        const char high = isRange ? glob[i + 2] : low;
        found |= low <= c && c <= high;
        i += isRange ? 3 : 1;
    }
    if (i >= glob.size()) return {};
    at = i + 1;
    return found != isNot;
}

} // namespace

std::string escapedRegex(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (kMeta.find(c) != kMeta.npos) out += '\\';
        out += c;
    }
    return out;
}

bool globMatches(std::string_view glob, std::string_view name) {
    std::size_t g = 0, n = 0, star = glob.npos, from = 0;
    while (n < name.size()) {
        std::size_t next = g + 1;
        bool fits = g < glob.size() && glob[g] != '*';
        if (fits && glob[g] == '[') {
            const auto in = inSet(glob, next, name[n]);
            fits = in.value_or(name[n] == '['); // without an end it is a bracket
        } else if (fits) {
            fits = glob[g] == '?' || glob[g] == name[n];
        }
        if (fits) {
            g = next, ++n;
        } else if (g < glob.size() && glob[g] == '*') {
            star = g++, from = n;
        } else if (star != glob.npos) {
            g = star + 1, n = ++from;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == glob.npos;
}

std::optional<std::string> exactName(const RecipeRule& rule) {
    std::string_view text = rule.pattern;
    switch (rule.how) {
    case Matching::Exact: return rule.pattern;
    case Matching::Glob: return text.find_first_of("*?[") == text.npos ? std::optional(rule.pattern) : std::nullopt;
    case Matching::Within:
    case Matching::Linear: return {};
    case Matching::Search:
        if (!text.starts_with('^') || !text.ends_with('$')) return {};
        break;
    case Matching::Prefix:
        if (!text.ends_with('$')) return {};
        break;
    case Matching::Full: break;
    }
    if (text.ends_with("\\$")) return {};
    return literalOf(text);
}

Result<RuleMatcher> RuleMatcher::of(const RecipeRule& rule) {
    RuleMatcher out;
    out.how_ = rule.how, out.text_ = rule.pattern;
    if (const auto exact = exactName(rule)) {
        out.how_ = Matching::Exact, out.text_ = *exact;
        return out;
    }
    if (!isRegex(rule.how)) return out;
    if (rule.pattern.size() > kLongestRegex)
        return fail(fmt::format("the rule '{}' is longer than {} characters", escapeForPeople(rule.pattern, 60),
                                kLongestRegex));
    const char* const begins = rule.how == Matching::Search ? "" : "\\A";
    const char* const ends = rule.how == Matching::Full     ? "\\z"
                             : rule.how == Matching::Within ? "(?:(?<=\\.)|(?=\\.|\\z))"
                                                            : "";
    const QString before = QString::fromLatin1(kLimits) + QString::fromLatin1(begins) + QStringLiteral("(?:");
    out.regex_.setPattern(before + wideText(rule.pattern) + u')' + QString::fromLatin1(ends));
    if (out.regex_.isValid()) return out;
    return fail(fmt::format("the rule '{}' is not a regular expression: {} at character {}",
                            escapeForPeople(rule.pattern, 80), out.regex_.errorString().toStdString(),
                            std::max<qsizetype>(0, out.regex_.patternErrorOffset() - before.size())));
}

RuleMatcher::Answer RuleMatcher::matchesOne(const std::string& name) const {
    if (how_ == Matching::Exact) return name == text_ ? Answer::Yes : Answer::No;
    if (how_ == Matching::Glob) return globMatches(text_, name) ? Answer::Yes : Answer::No;
    if (how_ == Matching::Within && !text_.empty() && name.ends_with(text_)) return Answer::Yes;
    const auto match = regex_.match(wideText(name));
    if (!match.isValid()) return Answer::TooManySteps;
    return match.hasMatch() ? Answer::Yes : Answer::No;
}

RuleMatcher::Answer RuleMatcher::matches(const std::vector<std::string>& names, bool isLinear) const {
    if (how_ == Matching::Linear) return isLinear ? Answer::Yes : Answer::No;
    for (const std::string& name : names)
        if (const Answer answer = matchesOne(name); answer != Answer::No) return answer;
    return Answer::No;
}

} // namespace qs
