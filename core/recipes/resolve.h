// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a recipe says about every matrix of a model, and which of its rules says it.

#include "core/base/column.h"
#include "core/recipes/recipe_format.h"

namespace qs {

struct ResolvedTensor {
    const TensorInfo* tensor = nullptr;
    std::string name;                     ///< in the name space of the recipe; "": it has none there
    std::optional<QuantSpec> spec;        ///< none: it stays as it is
    std::optional<std::size_t> rule;      ///< that decides; none: no rule does
    std::vector<std::size_t> others = {}; ///< rules that match too
    std::string matchedBy;                ///< for people: the pattern, or what decides in its place
    std::string problem = {};             ///< what is asked for and no spec says
    std::string note = {};                ///< why the spec is another than the rule's
};

struct ResolvedRule {
    RecipeRule rule;
    std::size_t number = 0;               ///< in the file, from 1 on
    std::size_t matches = 0, decides = 0; ///< tensors
};

struct ResolvedRecipe {
    std::vector<ResolvedTensor> tensors; ///< in the order of the model
    std::vector<ResolvedRule> rules;     ///< in the order of the file; without a model all counts are 0
    std::vector<std::string> remarks;    ///< of the recipe, rules that match nothing, rules that overlap; sentences
    std::size_t problems = 0;            ///< tensors
};

/// Errors: a pattern that is none, or that takes too many steps; they name the rule.
Result<ResolvedRecipe> resolveRecipe(const ForeignRecipe& recipe, const Model& model);
/// The rules alone, where there is no model to ask.
ResolvedRecipe rulesAlone(const ForeignRecipe& recipe);
/// "int4:block=128", "keep", or the problem.
std::string askedText(const std::optional<QuantSpec>& spec, const std::string& problem);

/// The recipe that the rest of the program uses: a rule for every tensor that gets a spec. Error: tensors for which the
/// recipe asks for what no spec says.
Result<Recipe> recipeOf(const ResolvedRecipe& resolved, const std::string& path);
/// A recipe of any format as one of our own, for this model.
Result<Recipe> readRecipeFor(const std::string& path, const Model& model);
/// The same with what was found on the way, for people.
struct ReadRecipe {
    Recipe recipe;
    const RecipeFormat* format = nullptr;
    ResolvedRecipe resolved;
};
Result<ReadRecipe> readAndResolve(const std::string& path, const Model& model);

const Columns<ResolvedTensor>& resolvedColumns();
const Columns<ResolvedRule>& ruleColumns();

} // namespace qs
