// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A plan: one spec for every unit.

#include "core/export/recipe.h"
#include "core/plan/options.h"

namespace qs::plan {

struct Mixture {
    std::string name;                ///< for people: "plan", "nf4:block=64 everywhere"
    std::vector<std::size_t> picked; ///< of each unit: index into its options
    std::uint64_t bytes = 0;         ///< of the whole file
    double loss = 0;                 ///< sum over the units
    /// Set where the mixture is an answer of bestMixture(): no mixture within the budget has a smaller loss.
    std::optional<double> bound;
    double bpw(const Options& options) const; ///< of the whole file, 8 * bytes / elements
    double gap() const;                       ///< relative distance to the bound; 0 where it is proved or has none
};

/// With bytes and loss.
Mixture mixtureOf(std::string name, std::vector<std::size_t> picked, const Options& options);
/// The least loss within `budget` bytes of the whole file. Error: the budget is below Options::leastBytes().
Result<Mixture> bestMixture(const Options& options, std::uint64_t budget);
/// The spec everywhere; units that cannot take it get their smallest option.
Mixture uniformMixture(std::size_t spec, const Options& options);

/// The spec that the mixture gives a tensor; null where the plan does not decide for it.
std::function<const QuantSpec*(const TensorInfo&)> specsOf(const Mixture& mixture, const Options& options,
                                                           const std::vector<TensorRule>& locks);
/// A rule for every planned tensor by its whole name, then the locks; the rest stays as it is.
Recipe recipeOf(const Mixture& mixture, const Options& options, const std::vector<TensorRule>& locks);

struct MixtureRow {
    std::string unit, spec;
    std::uint64_t elements = 0, bytes = 0;
    double loss = 0;
    double share = 0; ///< of the loss of all units
    std::size_t tensors = 0;
};
const Columns<MixtureRow>& mixtureColumns();
std::vector<MixtureRow> mixtureRows(const Mixture& mixture, const Options& options);

} // namespace qs::plan
