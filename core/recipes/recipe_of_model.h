// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A recipe as evaluations and plans take it: a spec for each matrix of a model.

#include "core/export/recipe.h"

#include <functional>
#include <memory>

namespace qs {

/// A recipe over all matrices of a model, as an export would apply it.
struct RecipeOfModel {
    std::string name; ///< of its file
    std::shared_ptr<const Recipe> recipe;
    std::function<const QuantSpec*(const TensorInfo& tensor)> specOf; ///< null: it stays as it is
    std::vector<QuantSpec> specs;                                     ///< that a matrix gets, each once
};
/// In any recipe format. Errors: no recipe; a rule that is no regular expression; a recipe that changes no matrix of the
/// model.
Result<RecipeOfModel> recipeOfModel(const std::string& path, const Model& model);
/// Several, each with a name that no other one has: see namesOfPaths().
Result<std::vector<RecipeOfModel>> recipesOfModel(const std::vector<std::string>& paths, const Model& model);
/// Rules that keep what the recipe keeps, such as llm_int8_skip_modules of a config.json: a rule for each of these
/// tensors, by its whole name.
std::vector<TensorRule> keptBy(const RecipeOfModel& recipe, std::span<const TensorInfo* const> tensors);

} // namespace qs
