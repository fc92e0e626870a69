// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the rule of a recipe for a name, for many names. A plan has a rule for every tensor. So rules for one name are
// found in a table, and only the other rules are tried one after another.

#include "core/layouts/layout.h"

#include <memory>

namespace qs {

class RuleBook {
public:
    RuleBook() = default;
    /// Error: a rule is not a regular expression.
    static Result<RuleBook> of(std::vector<TensorRule> rules);
    /// The first rule that matches the name; null if none does. The pointer is valid while a copy of the book exists.
    const TensorRule* first(const std::string& tensor) const;
    const std::vector<TensorRule>& rules() const;

private:
    struct Pages;
    std::shared_ptr<const Pages> pages_;
};

/// A regular expression that matches only this name.
std::string regexOfName(const std::string& tensor);

/// Rules as people edit them, one per line. First come the user's own rules, then a separating line, then the rules of
/// a plan. So the user's rules win: they are the locks of the plan.
struct RuleLines {
    std::vector<TensorRule> own, planned;
    std::string note; ///< text of the separating line: how the plan was made, "4.5000 bpw by slope"
    std::vector<TensorRule> all() const;
};
/// Parses such lines. The rules have the form that parseRules() takes.
Result<RuleLines> parseRuleLines(const std::string& lines);
/// The inverse of parseRuleLines(). It fails in the same cases as rulesText().
Result<std::string> ruleLinesText(const RuleLines& lines);

} // namespace qs
