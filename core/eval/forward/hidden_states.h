// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The forward pass of a network in f32. Each layer is computed for all chunks of a text before the next layer. The
// order of sums does not depend on the number of threads or on how chunks are grouped.

#include "core/eval/forward/prepared_layer.h"

namespace qs::eval {

/// Hidden states of a text that is cut into chunks; the last chunk may be shorter.
class HiddenStates {
public:
    /// `values` is [tokens, hidden].
    HiddenStates(const Network& network, std::vector<float> values, std::size_t context)
        : network_(network), values_(std::move(values)), context_(context) {}

    /// Passes every chunk through one layer. Errors: the job is cancelled, or an expert cannot be loaded.
    Result<void> pass(const PreparedLayer& layer, PassRoom& room, const Job& job, const InputTap& tap = {});
    /// The same, but it prepares the layer and its working memory itself.
    Result<void> pass(LayerWeights weights, const LayerPlan& plan, const Job& job, const InputTap& tap = {},
                      std::size_t first = 0);
    /// The same for several states, one after another; the weights of the layer are prepared once. All states must have
    /// the same network, text length and context. `first` is that of PreparedLayer.
    static Result<void> passAll(std::span<HiddenStates* const> states, LayerWeights weights, const LayerPlan& plan,
                                const Job& job, const InputTap& tap = {}, std::size_t first = 0);
    /// The states of `count` tokens from token `first` on: [count, hidden].
    std::span<const float> rows(std::size_t first, std::size_t count) const;
    std::span<const float> values() const { return values_; } ///< [tokens, hidden]
    std::size_t tokens() const { return values_.size() / std::size_t(network_.hidden); }

private:
    const Network& network_;
    std::vector<float> values_;
    std::size_t context_;
};

} // namespace qs::eval
