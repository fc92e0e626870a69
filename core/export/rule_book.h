// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rules of a recipe for many names. A plan makes a rule for every tensor: rules for one name are found by a table, and
// only the others are tried one after another.

#include "core/layouts/layout.h"

#include <memory>

namespace qs {

class RuleBook {
public:
    RuleBook() = default;
    /// Error: a rule that is no regular expression.
    static Result<RuleBook> of(std::vector<TensorRule> rules);
    /// The first rule that matches the name; null: none. Pointers are valid while a copy of the book exists.
    const TensorRule* first(const std::string& tensor) const;
    const std::vector<TensorRule>& rules() const;

private:
    struct Pages;
    std::shared_ptr<const Pages> pages_;
};

/// A regular expression that matches this name alone.
std::string regexOfName(const std::string& tensor);

/// Rules as people edit them, one a line. Below the user's own come those of a plan, behind a line of their own, so that
/// the user's rules win: they are the locks of the plan.
struct RuleLines {
    std::vector<TensorRule> own, planned;
    std::string note; ///< how the plan was made, on the line before its rules: "4.5000 bpw by slope"
    std::vector<TensorRule> all() const;
};
/// As parseRules().
Result<RuleLines> parseRuleLines(const std::string& lines);
/// The same back; fails as rulesText().
Result<std::string> ruleLinesText(const RuleLines& lines);

} // namespace qs
