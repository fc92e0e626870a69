// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The forward pass of a decoder network in f32, one layer over all chunks of a text at a time. Sums are added in one order
// whatever the number of threads is, and whatever chunks go together.

#include "core/eval/forward/prepared_layer.h"

namespace qs::eval {

/// Hidden states of a text that is cut into chunks; the last chunk may be shorter.
class HiddenStates {
public:
    /// `values`: [tokens, hidden].
    HiddenStates(const Network& network, std::vector<float> values, std::size_t context)
        : network_(network), values_(std::move(values)), context_(context) {}

    /// Puts every chunk through one layer. Errors: cancelled, an expert cannot be loaded.
    Result<void> pass(const PreparedLayer& layer, PassRoom& room, const Job& job, const InputTap& tap = {});
    /// The same with a layer and a room that are made for it.
    Result<void> pass(LayerWeights weights, const LayerPlan& plan, const Job& job, const InputTap& tap = {},
                      std::size_t first = 0);
    /// The same for several states of one network, text length and context, one after another, with the layer's weights
    /// prepared once. `first`: as in PreparedLayer.
    static Result<void> passAll(std::span<HiddenStates* const> states, LayerWeights weights, const LayerPlan& plan,
                                const Job& job, const InputTap& tap = {}, std::size_t first = 0);
    /// [count, hidden] from a token on.
    std::span<const float> rows(std::size_t first, std::size_t count) const;
    std::span<const float> values() const { return values_; } ///< [tokens, hidden]
    std::size_t tokens() const { return values_.size() / std::size_t(network_.hidden); }

private:
    const Network& network_;
    std::vector<float> values_;
    std::size_t context_;
};

} // namespace qs::eval
