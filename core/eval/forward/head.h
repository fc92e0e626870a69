// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Logits out of hidden states: final norm, head, soft cap.

#include "core/eval/forward/hidden_states.h"

namespace qs::eval {

/// Rows of logits that are computed at once, so that only so many are in memory.
constexpr std::size_t kLogitRows = 96;

class Head {
public:
    /// `change`: of the head's matrix; null: as it is stored. Errors: those of NetworkWeights::head().
    static Result<Head> load(const Network& network, const NetworkWeights& weights, const WeightChange* change,
                             const Job& job);

    /// Logits after the tokens first ... first + count - 1. `count`: at most kLogitRows. `out`: [kLogitRows, vocabulary],
    /// of which `count` rows count. False: cancelled.
    bool operator()(const HiddenStates& states, std::size_t first, std::size_t count, std::vector<float>& out,
                    const Job& job);

private:
    Head(const Network& network, std::vector<float> norm, std::vector<float> bias, WeightMatrix matrix);
    const Network* net_;
    std::vector<float> norm_, bias_;
    Workers workers_;
    std::unique_ptr<Linear> product_;
};

} // namespace qs::eval
