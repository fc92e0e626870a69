// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Attention of one layer over the chunks of a text.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/forward/linear.h"
#include "core/eval/forward/pass_room.h"
#include "core/eval/network/network_weights.h"

namespace qs::eval {

/// Attention of one layer with its products prepared.
class Attention {
public:
    /// Moves the matrices out of `weights`. The rest of `weights` must live as long as this object. `tail` says which
    /// rows of the result are needed.
    Attention(const Network& network, LayerWeights& weights, const LayerPlan& plan, const PassRoom& room,
              const Tail& tail);
    /// Computes room.result from room.input for `tokens` tokens, which begin at the start of a chunk. The needed rows
    /// are stored together; rows behind them are 0. Returns false if the job is cancelled.
    bool operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const;

private:
    void prepareHeads(std::size_t tokens, PassRoom& room) const;
    void attendChunks(std::size_t tokens, PassRoom& room) const;
    const Network& net_;
    const LayerWeights& w_;
    const LayerPlan& plan_;
    const Tail& tail_;
    std::size_t queries_, keys_; ///< values of all heads together, for one token
    mutable Linear qkv_, output_;
};

} // namespace qs::eval
