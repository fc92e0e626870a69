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
    /// Standard error of the loss, as if the errors of all units went the same way: the widest it can be.
    double error = 0;
    std::size_t unmeasured = 0; ///< locked units, or tensors of a recipe, whose loss is not known: the sum lacks them
    /// Set where the mixture is an answer of bestMixture(): no mixture within the budget has a smaller loss.
    std::optional<double> bound;
    double bpw(const Options& options) const; ///< of the whole file, 8 * bytes / elements
    double gap() const;                       ///< relative distance to the bound; 0 where it is proved or has none
};

/// With bytes and loss.
Mixture mixtureOf(std::string name, std::vector<std::size_t> picked, const Options& options);
/// The least loss within `budget` bytes of the whole file. `mostStates`: see pickChoices(). Error: the budget is below
/// Options::leastBytes().
Result<Mixture> bestMixture(const Options& options, std::uint64_t budget,
                            std::size_t mostStates = std::size_t(1) << 20);
/// The spec everywhere; units that cannot take it get their smallest option.
Mixture uniformMixture(std::size_t spec, const Options& options);

/// The spec that a tensor gets; null where it stays as it is.
using SpecOf = std::function<const QuantSpec*(const TensorInfo&)>;
SpecOf specsOf(const Mixture& mixture, const Options& options, const std::vector<TensorRule>& locks);
/// The locks, then a rule for every other planned tensor by its whole name; the rest stays as it is.
Recipe recipeOf(const Mixture& mixture, const Options& options, const std::vector<TensorRule>& locks);

struct MixtureRow {
    std::string unit, spec;
    std::uint64_t elements = 0, bytes = 0;
    std::optional<double> loss; ///< none: a locked spec that was not measured
    double share = 0;           ///< of the loss of all units
    std::size_t tensors = 0;
    std::string lock; ///< the rule that decides for it; empty: the plan does
};
const Columns<MixtureRow>& mixtureColumns();
std::vector<MixtureRow> mixtureRows(const Mixture& mixture, const Options& options);

} // namespace qs::plan
