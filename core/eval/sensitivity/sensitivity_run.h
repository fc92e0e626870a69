// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One measurement of sensitivity while it is made: the units whose effect is measured, and the rows that have come.

#include "core/eval/sensitivity/branches.h"

namespace qs::eval {

class SensitivityRun : public BranchRunner {
public:
    /// Errors: those of sensitivity().
    static Result<std::unique_ptr<SensitivityRun>> of(std::shared_ptr<const Model> model, const SensitivityPlan& plan,
                                                      const Job& job);

    const std::vector<Unit>& units() const { return units_; }

    /// The matrices that the spec, one of the plan, is for, and the layout whose readers give their values.
    const SpecScope& scopeOf(const QuantSpec& spec) const;
    /// Why the spec is for no matrix of the unit; "": it is for some.
    std::string whyKept(const Unit& unit, const QuantSpec& spec) const;
    /// A row of a unit with its names.
    SensitivityRow rowOf(const Unit& unit, const QuantSpec* spec) const;
    /// Hands a row over, to stand at this place of the result.
    void put(std::size_t unit, std::size_t spec, SensitivityRow row);
    void put(Additivity additivity) { result_.additivity.push_back(std::move(additivity)); }
    Sensitivity result() const;

    /// ||V - W||^2 / ||W||^2 over the matrices of a unit; a refusal of the spec is an error. With units it is found in
    /// the records or kept there. None in a merge that does not find it.
    Result<std::optional<double>> nmseOf(const Unit& unit, const QuantSpec& spec, const Job& job);
    /// The network with all units of the run changed at once, for each spec of the plan; none: it is left out. With
    /// `floor`, also the KL of the reference against itself in another order of sums, nats; see inAnotherOrder().
    struct AllAtOnce {
        std::vector<std::optional<BranchResult>> of; ///< for each spec
        std::optional<double> floor;
    };
    Result<AllAtOnce> allAtOnce(bool floor, const Job& job);
    /// Says of a branch whether it differs in the embedding and in a head that is tied to it.
    Branch withOutside(Branch branch, const Unit& unit) const;
    /// The branch of a unit under a spec.
    Branch quantized(const Unit& unit, const QuantSpec& spec) const;

private:
    using BranchRunner::BranchRunner;

    std::vector<SpecScope> scopes_; ///< of each spec of the plan; without specs, that of the plan
    std::vector<Unit> units_;
    std::map<std::pair<std::size_t, std::size_t>, SensitivityRow> rows_;
    Sensitivity result_; ///< without its rows
};

} // namespace qs::eval
