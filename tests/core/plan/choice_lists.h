// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Choices as a test writes them, class by class, and the flat lists that the knapsack takes.

#include "core/plan/two_budgets.h"

#include <vector>

namespace qs::plan {

struct TimedChoice {
    double loss = 0;
    std::uint64_t bytes = 0, ns = 0;
};
using TimedClasses = std::vector<std::vector<TimedChoice>>;

/// Valid while the object exists.
class Lists {
public:
    Lists(const TimedClasses& classes) { // NOLINT(google-explicit-constructor): it is used like the classes
        for (const auto& choices : classes) {
            for (const TimedChoice& one : choices)
                loss_.push_back(one.loss), bytes_.push_back(one.bytes), ns_.push_back(one.ns);
            first_.push_back(std::uint32_t(loss_.size()));
        }
    }
    operator TimedChoiceLists() const { return {{first_, loss_, bytes_}, ns_}; }

private:
    std::vector<std::uint32_t> first_{0};
    std::vector<double> loss_;
    std::vector<std::uint64_t> bytes_, ns_;
};

} // namespace qs::plan
