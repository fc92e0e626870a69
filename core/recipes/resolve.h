// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Applies a recipe to a model: which spec every matrix gets, and which rule decides.

#include "core/base/column.h"
#include "core/recipes/recipe_format.h"

namespace qs {

struct ResolvedTensor {
    const TensorInfo* tensor = nullptr;
    std::string name;                     ///< name in the name space of the recipe; "" if it has none there
    std::optional<QuantSpec> spec;        ///< empty: the tensor stays as it is
    std::optional<std::size_t> rule;      ///< index of the rule that decides; empty: no rule matches
    std::vector<std::size_t> others = {}; ///< indexes of the other rules that match
    std::string matchedBy;                ///< for people: the pattern, or what decides if no rule matches
    std::string problem = {};             ///< what the recipe asks for, if no spec can say it
    std::string note = {};                ///< why the spec differs from that of the rule
};

struct ResolvedRule {
    RecipeRule rule;
    std::size_t number = 0;               ///< number in the file, from 1 on
    std::size_t matches = 0, decides = 0; ///< tensors that it matches; tensors for which it decides
};

struct ResolvedRecipe {
    std::vector<ResolvedTensor> tensors; ///< in the order of the model
    std::vector<ResolvedRule> rules;     ///< in the order of the file; without a model all counts are 0
    std::vector<std::string> remarks;    ///< sentences: of the recipe, on rules that match nothing or that overlap
    std::size_t problems = 0;            ///< number of tensors with a problem
};

/// Errors: a pattern is not valid, or takes too many steps. They name the rule.
Result<ResolvedRecipe> resolveRecipe(const ForeignRecipe& recipe, const Model& model);
/// The rules of a recipe without a model.
ResolvedRecipe rulesAlone(const ForeignRecipe& recipe);
/// "int4:block=128", "keep", or the problem.
std::string askedText(const std::optional<QuantSpec>& spec, const std::string& problem);

/// Makes a recipe of our own, with a rule for every tensor that gets a spec. Error: for some tensor the recipe asks for
/// something that no spec can say.
Result<Recipe> recipeOf(const ResolvedRecipe& resolved, const std::string& path);
/// Reads a recipe of any format and converts it to one of our own for this model.
Result<Recipe> readRecipeFor(const std::string& path, const Model& model);
/// The same, with the format and the resolved rules, to show them to people.
struct ReadRecipe {
    Recipe recipe;
    const RecipeFormat* format = nullptr;
    ResolvedRecipe resolved;
};
Result<ReadRecipe> readAndResolve(const std::string& path, const Model& model);

const Columns<ResolvedTensor>& resolvedColumns();
const Columns<ResolvedRule>& ruleColumns();

} // namespace qs
