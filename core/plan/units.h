// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensors get one spec together, and what decides for them.

#include "core/base/rare_values.h"
#include "core/export/rule_book.h"
#include "core/plan/sizes.h"

namespace qs::plan {

struct OptionRequest;

/// The units of a plan in the order of the model. A model may have a million, so they are flat lists.
class PlanUnits {
public:
    PlanUnits() = default;
    /// `place`: of each tensor, the number of its unit; no number is left out.
    PlanUnits(std::vector<const TensorInfo*> tensors, const std::vector<std::uint32_t>& place);

    std::size_t size() const { return first_.size() - 1; }
    std::span<const TensorInfo* const> tensors(std::size_t unit) const {
        return std::span(tensors_).subspan(first_[unit], first_[unit + 1] - first_[unit]);
    }
    std::string name(std::size_t unit) const; ///< of its tensor, or of the first with the number of the others
    /// The rule that decides for the unit, as REGEX=SPEC; "": the plan does.
    const std::string& lock(std::size_t unit) const { return lockTexts_[lockOf_[unit]]; }
    /// The number of that rule; none: the plan decides.
    std::optional<std::size_t> rule(std::size_t unit) const;

    /// A lock of one tensor is one of its whole unit. Where the locks of a unit's tensors say different specs, each tensor
    /// becomes a unit of its own, and `remarks` gets a sentence. Called once.
    void setLocks(const RuleBook& rules, std::vector<std::string>& remarks);
    void keepOnly(const std::vector<bool>& wanted); ///< removes the other units

private:
    std::vector<const TensorInfo*> tensors_; ///< unit by unit
    std::vector<std::uint32_t> first_{0};    ///< of each unit: its first tensor; and the end
    RareValues<std::uint32_t> lockOf_;       ///< number of the rule + 1; 0: none
    std::vector<std::string> lockTexts_{""};
};

/// With the locks of the request, whose list of tensors it takes away. What the layout keeps under every spec is of no
/// group. `sizes` have all specs of the request. `remarks`: see PlanUnits::setLocks(). Errors: an expression that is none.
Result<PlanUnits> unitsOf(OptionRequest& request, const StoredSizes& sizes, std::vector<std::string>& remarks);

} // namespace qs::plan
