// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A recipe says which tensor gets which spec. In a file it is
//   {"version":1,"default":SPEC|"keep","rules":[{"tensor":REGEX,"spec":SPEC|"keep"}]}
// and on a command line SPEC and REGEX=SPEC. The first rule that matches a name wins.

#include "core/layouts/layout.h"

namespace qs {

struct Recipe {
    std::optional<QuantSpec> rest; ///< spec of tensors that no rule matches; empty: they stay as they are
    std::vector<TensorRule> rules;
    void applyTo(QuantizeRequest& request) const;
};
Result<Recipe> parseRecipe(const std::string& text, const std::string& path);
Result<Recipe> readRecipe(const std::string& path);
/// Parses words of the command line. Each is SPEC, REGEX=SPEC or REGEX=keep; at most one is SPEC.
Result<Recipe> recipeOfSpecs(const std::vector<std::string>& specs);
/// The text of a file that readRecipe() can read.
std::string recipeText(const Recipe& recipe);
/// "q_proj=int8, else nf4:block=64", for provenance.
std::string recipeInWords(const Recipe& recipe);
/// Parses lines that people write. Each line is a rule, REGEX=SPEC or REGEX=keep. Blank lines and lines that begin with
/// # are ignored. Errors name the line.
Result<std::vector<TensorRule>> parseRules(const std::string& lines);
/// The inverse of parseRules(). It fails if a regex does not fit in one line.
Result<std::string> rulesText(const std::vector<TensorRule>& rules);
/// firstRule() is the first rule that matches a name, ruleFor() the rule for exactly this name; null if there is none.
const TensorRule* firstRule(const std::vector<TensorRule>& rules, const std::string& tensor);
const TensorRule* ruleFor(const std::vector<TensorRule>& rules, const std::string& tensor);
/// Puts a rule for exactly this name in front, and removes an older one. The second function only removes it.
std::vector<TensorRule> withRuleFor(std::vector<TensorRule> rules, const std::string& tensor,
                                    const std::optional<QuantSpec>& spec);
std::vector<TensorRule> withoutRuleFor(std::vector<TensorRule> rules, const std::string& tensor);
/// The rules that match no tensor of the model, in the words of the user.
std::vector<std::string> unmatchedRules(const Recipe& recipe, const Model& model);

} // namespace qs
