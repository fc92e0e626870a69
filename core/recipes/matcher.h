// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Matches names with the patterns of a recipe. Regular expressions come from files that are not trusted, so each match
// has a limit of steps and of memory.

#include "core/recipes/recipe_format.h"

#include <QRegularExpression>

namespace qs {

/// The only name that a rule can match; nullopt if it can match several.
std::optional<std::string> exactName(const RecipeRule& rule);
/// A regular expression that matches only this text.
std::string escapedRegex(std::string_view text);

class RuleMatcher {
public:
    /// Error: the pattern is not a regular expression or is too long. The error does not name the file.
    static Result<RuleMatcher> of(const RecipeRule& rule);
    enum class Answer { No, Yes, TooManySteps };
    /// Whether the rule matches one of the names of a tensor.
    Answer matches(const std::vector<std::string>& names, bool isLinear) const;

private:
    RuleMatcher() = default;
    Answer matchesOne(const std::string& name) const;
    Matching how_ = Matching::Exact;
    std::string text_; ///< the text for Exact, Glob and Within
    QRegularExpression regex_;
};

/// Matches like Python's fnmatch: `*` is any text, `?` one character, [abc] and [!abc] one of a set. The time is at
/// most proportional to the product of both lengths.
bool globMatches(std::string_view glob, std::string_view name);

} // namespace qs
