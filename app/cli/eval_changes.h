// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an evaluation compares with its reference, as options of a command name it.

#include "core/eval/network/weight_change.h"
#include "core/recipes/recipe_of_model.h"

namespace qs::cli {

/// A recipe in any format, as recipeOfModel() reads it.
Result<eval::WeightChange> changeByRecipe(const std::string& path, const Model& model);
/// Another model.
Result<eval::WeightChange> changeByModel(const std::string& path);

/// An error where none of `changes` could be evaluated, or none of those that a backend was to serve. `reasons`: of each, why
/// it has no figures.
Result<void> outcomeOf(const std::vector<eval::WeightChange>& changes, const std::vector<std::string>& reasons,
                       const std::string& path);

} // namespace qs::cli
