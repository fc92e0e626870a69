// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The results of the page Plan as a text of a session file; see kept_results.h. The plan itself is not stored, because
// it follows from the losses, the budget and the recipe.

#include "core/plan/report.h"

namespace qs {

struct KeptPlan {
    std::vector<QuantSpec> specs; ///< to choose from
    std::string layout, objective;
    std::vector<std::string> groups;
    std::vector<plan::SizeLimit> limits;
    std::optional<double> bpw;               ///< the budget
    std::string startName, startRules;       ///< the recipe that it began from, a rule a line; "": none
    std::optional<std::uint64_t> ns;         ///< the budget of time
    std::optional<std::string> target;       ///< id of a backend
    std::optional<std::uint64_t> targetRows; ///< M that it was asked about; none: 1
    std::size_t lossChunks = 0;
    plan::NamedLosses losses;                 ///< losses of the objective, without additivity
    std::vector<plan::MeasuredPlan> measured; ///< mixtures without `picked`
};
std::string keptPlan(const KeptPlan& plan);
Result<KeptPlan> planKept(const std::string& text);

} // namespace qs
