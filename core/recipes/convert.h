// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A recipe in the words of another program.

#include "core/recipes/resolve.h"

namespace qs {

/// The recipe as a file of the format `to`. What was written is read again and resolved for the same model: it gives every
/// tensor the same, but for what its program decides by itself (its dialect, and the floats of its scales). Without a
/// model (null) every rule must be for one name. Errors: what the format cannot say, with what would work; names that
/// cannot be translated.
Result<WrittenRecipe> convertRecipe(const ForeignRecipe& recipe, const RecipeFormat& to, const Model* model);
/// The same for a recipe of our own.
Result<WrittenRecipe> convertRecipe(const Recipe& recipe, const RecipeFormat& to, const Model& model);

} // namespace qs
