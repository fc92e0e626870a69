// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/hidden_states.h"

#include <algorithm>

namespace qs::eval {

Result<void> HiddenStates::pass(const PreparedLayer& layer, PassRoom& room, const Job& job, const InputTap& tap) {
    return layer(values_, room, job, tap);
}

Result<void> HiddenStates::pass(LayerWeights weights, const LayerPlan& plan, const Job& job, const InputTap& tap,
                                std::size_t first) {
    HiddenStates* one = this;
    return passAll(std::span(&one, 1), std::move(weights), plan, job, tap, first);
}

Result<void> HiddenStates::passAll(std::span<HiddenStates* const> states, LayerWeights weights, const LayerPlan& plan,
                                   const Job& job, const InputTap& tap, std::size_t first) {
    if (states.empty()) return {};
    const HiddenStates& one = *states.front();
    PassRoom room(one.network_, {one.context_, (one.tokens() + one.context_ - 1) / one.context_});
    const PreparedLayer layer(one.network_, std::move(weights), plan, room, first, states.size() > 1);
    for (HiddenStates* each : states)
        if (auto done = each->pass(layer, room, job, tap); !done) return done;
    return {};
}

std::span<const float> HiddenStates::rows(std::size_t first, std::size_t count) const {
    const auto hidden = std::size_t(network_.hidden);
    return std::span(values_).subspan(first * hidden, count * hidden);
}

} // namespace qs::eval
