// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a model takes under a recipe: one layout and its bytes, for the window and the command line alike.

#include "core/export/recipe.h"

namespace qs {

/// The layout whose bytes are counted where nobody has chosen one: the one that all specs follow, see followedLayout(),
/// else the first that takes the most of the specs for a tensor like the example. Null: any tensor.
const Layout& countedLayout(const Model& model, const TensorInfo* example, std::span<const QuantSpec> specs);

struct RecipeSizes {
    const Layout* layout = nullptr;
    std::vector<std::uint64_t> bytes; ///< that the layout writes for each tensor of the model; what it refuses stays
    std::uint64_t all = 0;            ///< sum of these
};
/// Errors: those of planExport().
Result<RecipeSizes> recipeSizes(const Model& model, const Recipe& recipe, const Layout& layout, const Job& job);
/// Bytes that the layout writes for one tensor under a spec; nullopt: it does not take the spec for it.
std::optional<std::uint64_t> tensorBytes(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                         const Layout& layout);

} // namespace qs
