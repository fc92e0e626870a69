// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A plan: one spec for every unit.

#include "core/export/recipe.h"
#include "core/plan/budget.h"
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
    std::uint64_t ns = 0;                     ///< of one pass over the model, where times are known
    Interval nsRange = {};                    ///< of `ns`, from the intervals of the medians; NaN: one has none
    std::size_t untimed = 0;                  ///< units and other products without a measured time, which the sum lacks
    double bpw(const Options& options) const; ///< of the whole file, 8 * bytes / elements
    double gap() const;                       ///< relative distance to the bound; 0 where it is proved or has none
};

/// With bytes, loss and time.
Mixture mixtureOf(std::string name, std::vector<std::size_t> picked, const Options& options);
/// The least loss within the budget; within a size and a time it is the best that was found, and the gap says how far it
/// may be from the least. `mostStates`: see pickChoices(). Errors: a part of the budget is below what the smallest or the
/// fastest choices need, both together are, a time without Options::latencies.
Result<Mixture> bestMixture(const Options& options, const Budget& budget,
                            std::size_t mostStates = std::size_t(1) << 20);
bool isWithin(const Mixture& mixture, const Budget& budget);
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
    std::string lock;         ///< the rule that decides for it; empty: the plan does
    std::optional<double> ns; ///< of its products in one pass; none: not measured
    std::string refused;      ///< specs that it cannot have, and why
};
const Columns<MixtureRow>& mixtureColumns();
MixtureRow mixtureRow(const Mixture& mixture, const Options& options, std::size_t unit);
std::vector<MixtureRow> mixtureRows(const Mixture& mixture, const Options& options); ///< of all units

} // namespace qs::plan
