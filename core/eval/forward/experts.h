// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The mixture of experts of one layer: every token goes through a few MLPs of many. A router scores the experts; softmax
// over all scores in f32; the largest are taken, of equal ones the first. Only the experts that a chunk needs multiply.
// The outputs of a token's experts are added in the order of the experts' numbers.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/network/network_weights.h"
#include "core/value/product.h"

#include <map>

namespace qs::eval {

/// A token that goes through an expert.
struct Routed {
    std::size_t token = 0; ///< of the chunk
    float factor = 0;      ///< on the output of the expert
};
/// The tokens of each expert, ascending. `scores`: [length, experts], of the router.
std::vector<std::vector<Routed>> route(const Mixture& mixture, std::span<const float> scores);

class Experts {
public:
    Experts(const Network& network, const LayerWeights& weights, std::size_t context);
    /// `x` and `y`: [context, hidden], of which `length` rows count; the others of `x` are 0. False: cancelled.
    bool operator()(const float* x, std::size_t length, float* y, const Job& job, const InputTap& tap = {});

private:
    /// The products of one expert, made when the first token comes to it.
    struct Prepared {
        value::PreparedProduct gateUp, down;
    };
    Prepared& prepared(std::size_t expert);
    bool addExpert(std::size_t expert, std::span<const Routed> tokens, const float* x, float* y, const Job& job);

    const Network& net_;
    const LayerWeights& w_;
    value::PreparedProduct router_;
    std::map<std::size_t, std::unique_ptr<Prepared>> prepared_; ///< by the number of the expert
    std::vector<float> scores_, input_, wide_, activated_, output_;
};

} // namespace qs::eval
