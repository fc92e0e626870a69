// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The patterns of a recipe, ready to match names. Regular expressions come from other people's files: each match has a
// limit of steps and of memory.

#include "core/recipes/recipe_format.h"

#include <QRegularExpression>

namespace qs {

/// The one name that a rule is for; none: it is a pattern for several.
std::optional<std::string> exactName(const RecipeRule& rule);
/// A regular expression that stands for this text alone.
std::string escapedRegex(std::string_view text);

class RuleMatcher {
public:
    /// Error: the pattern is no regular expression, or is too long; a sentence without the file's name.
    static Result<RuleMatcher> of(const RecipeRule& rule);
    enum class Answer { No, Yes, TooManySteps };
    /// Whether the rule is for a tensor that has any of these names.
    Answer matches(const std::vector<std::string>& names, bool isLinear) const;

private:
    RuleMatcher() = default;
    Answer matchesOne(const std::string& name) const;
    Matching how_ = Matching::Exact;
    std::string text_; ///< of Exact, Glob and Within
    QRegularExpression regex_;
};

/// As Python's fnmatch: `*` is any text, `?` one character, [abc] and [!abc] one of a set. In time of both lengths.
bool globMatches(std::string_view glob, std::string_view name);

} // namespace qs
