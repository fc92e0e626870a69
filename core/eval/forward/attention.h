// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Attention of one layer over the chunks of a text.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/network/network_weights.h"
#include "core/value/product.h"

namespace qs::eval {

/// Sines and cosines of all positions of a chunk: [positions, frequencies].
struct Angles {
    Angles(const Rope& rope, std::size_t positions);
    std::vector<float> sines, cosines;
    std::size_t frequencies = 0;
};

/// Attention of one layer, with its products prepared and the buffers of one chunk of `context` tokens.
class Attention {
public:
    Attention(const Network& network, const LayerWeights& weights, const LayerPlan& plan, std::size_t context);
    /// `x` and `y`: [context, hidden], of which `length` rows count; the others of `x` are 0. False: cancelled.
    bool operator()(const float* x, std::size_t length, float* y, const Job& job, const InputTap& tap = {});

private:
    void prepareHeads(std::size_t length);
    const Network& net_;
    const LayerWeights& w_;
    const LayerPlan& plan_;
    std::size_t queries_, keys_; ///< values of all heads of a token
    value::PreparedProduct qkv_, output_;
    Angles angles_;
    std::vector<float> projected_, attended_;
};

/// Attention of one chunk. `qkv`: [length, (heads + 2 key/value heads) * head size], queries and keys normalized and
/// turned. `out`: [length, heads * head size].
void attend(const Network& network, const LayerPlan& plan, const float* qkv, std::size_t length, float* out);

} // namespace qs::eval
