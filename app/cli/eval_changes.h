// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an evaluation compares with its reference, as options of a command name it.

#include "core/eval/network/weight_change.h"
#include "core/export/recipe.h"

namespace qs::cli {

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
Result<eval::WeightChange> changeByRecipe(const std::string& path, const Model& model);
/// Another model.
Result<eval::WeightChange> changeByModel(const std::string& path);

/// An error where none of `changes` could be evaluated, or none of those that a backend was to serve. `reasons`: of each, why
/// it has no figures.
Result<void> outcomeOf(const std::vector<eval::WeightChange>& changes, const std::vector<std::string>& reasons,
                       const std::string& path);

} // namespace qs::cli
