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
    /// Takes the matrices out of `weights`; the rest of it must live as long.
    /// `tail`: the rows whose results are needed.
    Attention(const Network& network, LayerWeights& weights, const LayerPlan& plan, const PassRoom& room,
              const Tail& tail);
    /// room.input to room.result, the needed rows together, for `tokens` tokens from the start of a chunk on; rows beyond are 0. False:
    /// cancelled.
    bool operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const;
    std::size_t bytes() const { return qkv_.bytes() + output_.bytes(); } ///< of the products

private:
    void prepareHeads(std::size_t tokens, PassRoom& room) const;
    void attendChunks(std::size_t tokens, PassRoom& room) const;
    const Network& net_;
    const LayerWeights& w_;
    const LayerPlan& plan_;
    const Tail& tail_;
    std::size_t queries_, keys_; ///< values of all heads of a token
    mutable Linear qkv_, output_;
};

} // namespace qs::eval
