// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensor gets which spec: {"version":1,"default":SPEC|"keep","rules":[{"tensor":REGEX,"spec":SPEC|"keep"}]}, or
// the same on a command line as SPEC and REGEX=SPEC. The first rule that matches a name wins.

#include "core/layouts/layout.h"

namespace qs {

struct Recipe {
    std::optional<QuantSpec> rest; ///< of what no rule matches; none: it stays as it is
    std::vector<TensorRule> rules;
    void applyTo(QuantizeRequest& request) const;
};
Result<Recipe> parseRecipe(const std::string& text, const std::string& path);
Result<Recipe> readRecipe(const std::string& path);
/// Each is SPEC, REGEX=SPEC or REGEX=keep; one SPEC at most.
Result<Recipe> recipeOfSpecs(const std::vector<std::string>& specs);
/// The file that readRecipe() takes.
std::string recipeText(const Recipe& recipe);
/// "q_proj=int8, else nf4:block=64", for provenance.
std::string recipeInWords(const Recipe& recipe);
/// A rule a line, REGEX=SPEC or REGEX=keep, as people write them; blank lines and lines that begin with # are none.
/// Errors name the line.
Result<std::vector<TensorRule>> parseRules(const std::string& lines);
/// The same back; fails where a regex does not fit in a line of its own.
Result<std::string> rulesText(const std::vector<TensorRule>& rules);
/// The rule that decides for a name, and the one that is for this very name; null: none.
const TensorRule* firstRule(const std::vector<TensorRule>& rules, const std::string& tensor);
const TensorRule* ruleFor(const std::vector<TensorRule>& rules, const std::string& tensor);
/// With a rule for this very name in front, in the place of an earlier one; without it.
std::vector<TensorRule> withRuleFor(std::vector<TensorRule> rules, const std::string& tensor,
                                    const std::optional<QuantSpec>& spec);
std::vector<TensorRule> withoutRuleFor(std::vector<TensorRule> rules, const std::string& tensor);
/// Rules that match no tensor of the model, as they were written.
std::vector<std::string> unmatchedRules(const Recipe& recipe, const Model& model);

} // namespace qs
