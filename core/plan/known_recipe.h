// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Recipes that stand beside a plan: somebody's own, whatever program wrote them.

#include "core/plan/mixture.h"

namespace qs::plan {

/// A recipe with what it stores and loses.
struct KnownRecipe {
    SpecOf specs; ///< of all matrices of the model, planned or not; null where the layout keeps a tensor as it is
    /// Without `picked`: a recipe may use specs that are no choice. Where `unmeasured` is not 0, `loss` lacks the
    /// tensors whose loss under their spec is not known.
    Mixture mixture;
};
/// `name`: for people. Errors: a spec that the layout refuses for a tensor, or whose bytes are not known.
Result<KnownRecipe> knownRecipe(std::string name, const SpecOf& specs, const StoredSizes& sizes, const Losses& losses);

/// A plan, or a recipe beside it, before anything is measured.
struct BesideRow {
    std::string name;
    std::uint64_t bytes = 0; ///< of the whole file
    double bpw = 0;
    std::optional<double> loss; ///< none: some tensor's is not known
};
/// The plan first.
std::vector<BesideRow> besideRows(const Mixture& plan, std::span<const KnownRecipe> recipes, const Options& options);
const Columns<BesideRow>& besideColumns();

/// A spec that tensors with one spec could get.
struct UnitChoice {
    std::optional<QuantSpec> spec;      ///< none: they stay as they are
    std::optional<std::uint64_t> bytes; ///< that the layout stores; none: it does not take the spec for all of them
    std::optional<double> loss;         ///< none: not known for all of them
    std::string reason;                 ///< why there are no bytes
};
/// Staying as they are, then every spec.
std::vector<UnitChoice> unitChoices(std::span<const TensorInfo* const> tensors, std::span<const QuantSpec> specs,
                                    const StoredSizes& sizes, const Losses& losses);

} // namespace qs::plan
