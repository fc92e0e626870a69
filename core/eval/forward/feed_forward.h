// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The feed-forward part (MLP) of one layer over the chunks of a text.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/forward/linear.h"
#include "core/eval/forward/pass_room.h"
#include "core/eval/network/network_weights.h"

namespace qs::eval {

/// The MLP of one layer with its products prepared.
class FeedForward {
public:
    /// Moves the matrices out of `weights`. The rest of `weights` must live as long as this object. `sizes` are those
    /// of the rows that go through it.
    FeedForward(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers);
    /// Computes room.result from room.input for `tokens` rows. Rows behind them are 0. Returns false if the job is
    /// cancelled.
    bool operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const;

private:
    void activate(std::size_t tokens, PassRoom& room) const;
    const Network& net_;
    const LayerWeights& w_;
    PassSizes sizes_;
    std::size_t inner_; ///< values of a token between the two products
    bool isGated_;
    mutable Linear gateUp_, down_;
};

} // namespace qs::eval
