// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an evaluation compares with its reference, as options of a command name it.

#include "core/eval/network/weight_change.h"
#include "core/recipes/recipe_of_model.h"

namespace qs::cli {

/// Recipes in any format, as recipeOfModel() reads them.
Result<std::vector<eval::WeightChange>> changesByRecipes(const std::vector<std::string>& paths, const Model& model,
                                                         const std::vector<std::string>& filters,
                                                         const eval::SpecScope& scope);
/// Other models.
Result<std::vector<eval::WeightChange>> changesByModels(const std::vector<std::string>& paths);

/// An error where none of `changes` could be evaluated, or none of those that a backend was to serve. `reasons`: of each, why
/// it has no figures.
Result<void> outcomeOf(const std::vector<eval::WeightChange>& changes, const std::vector<std::string>& reasons,
                       const std::string& path);

} // namespace qs::cli
