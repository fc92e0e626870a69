// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The feed-forward part (MLP) of one layer over the chunks of a text.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/network/network_weights.h"
#include "core/value/product.h"

namespace qs::eval {

/// The MLP of one layer, with its products prepared and the buffers of one chunk of `context` tokens.
class FeedForward {
public:
    FeedForward(const Network& network, const LayerWeights& weights, std::size_t context);
    /// `x` and `y`: [context, hidden], of which `length` rows count; the others of `x` are 0. False: cancelled.
    bool operator()(const float* x, std::size_t length, float* y, const Job& job, const InputTap& tap = {});

private:
    const Network& net_;
    const LayerWeights& w_;
    std::size_t inner_; ///< values between the two products, of a token
    bool isGated_;
    value::PreparedProduct gateUp_, down_;
    std::vector<float> wide_, activated_;
};

} // namespace qs::eval
