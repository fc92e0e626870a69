// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes a recipe in the format of another program.

#include "core/recipes/resolve.h"

namespace qs {

/// Converts a recipe to the format `to`. The text is read again and resolved for the same model, and must give every
/// tensor the same spec. Only what its program decides itself may differ (the dialect, the float type of scales).
/// Without a model (null) every rule must be for one name. Errors: the format cannot say something, with an offer; a
/// name cannot be translated.
Result<WrittenRecipe> convertRecipe(const ForeignRecipe& recipe, const RecipeFormat& to, const Model* model);

} // namespace qs
