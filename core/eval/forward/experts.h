// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The mixture of experts of one layer: every token goes through a few MLPs of many. A router scores the experts; softmax
// over all scores in f32; the largest are taken, of equal ones the first. An expert multiplies only the tokens that come to it.
// The outputs of a token's experts are added in the order of the experts' numbers.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/forward/linear.h"
#include "core/eval/forward/pass_room.h"
#include "core/eval/network/network_weights.h"

namespace qs::eval {

/// The tokens of each expert, ascending. `scores`: [tokens, experts], of the router.
std::vector<std::vector<Routed>> route(const Mixture& mixture, std::span<const float> scores);

/// The MLPs of one layer with their products prepared.
class Experts {
public:
    /// Takes the matrices out of `weights`. `sizes`: of the rows that go through the router.
    Experts(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers);
    /// room.input to room.result for `tokens` rows; those beyond are 0. False: cancelled.
    bool operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const;
    std::size_t bytes() const; ///< of the products

private:
    struct Products {
        Linear gateUp, down;
    };
    bool addExpert(std::size_t expert, std::span<const Routed> tokens, PassRoom& room, const Job& job,
                   const InputTap& tap) const;

    const Network& net_;
    PassSizes sizes_;
    std::size_t inner_; ///< values between the two products of an expert, of a token
    mutable Linear router_;
    mutable std::vector<Products> experts_;
};

} // namespace qs::eval
