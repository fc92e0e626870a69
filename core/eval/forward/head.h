// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Computes logits from hidden states: final norm, head, soft cap.

#include "core/eval/forward/hidden_states.h"

namespace qs::eval {

/// Rows of logits that are computed at once. No more rows are in memory.
constexpr std::size_t kLogitRows = 96;

class Head {
public:
    /// `change` changes the head's matrix; null means that it stays as it is stored. Errors: those of
    /// NetworkWeights::head().
    static Result<Head> load(const Network& network, const NetworkWeights& weights, const WeightChange* change,
                             const Job& job);

    /// Computes the logits after tokens first ... first + count - 1; `count` is at most kLogitRows. `out` becomes
    /// [kLogitRows, vocabulary]; its first `count` rows are valid. Returns false if the job is cancelled.
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
