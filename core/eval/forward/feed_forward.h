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
    /// Takes the matrices out of `weights`; the rest of it must live as long.
    /// `sizes`: of the rows that go through it.
    FeedForward(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers);
    /// room.input to room.result for `tokens` rows; those beyond are 0. False: cancelled.
    bool operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const;
    std::size_t bytes() const { return gateUp_.bytes() + down_.bytes(); } ///< of the products

private:
    void activate(std::size_t tokens, PassRoom& room) const;
    const Network& net_;
    const LayerWeights& w_;
    PassSizes sizes_;
    std::size_t inner_; ///< values between the two products, of a token
    bool isGated_;
    mutable Linear gateUp_, down_;
};

} // namespace qs::eval
