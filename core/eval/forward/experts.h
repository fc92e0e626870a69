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

#include <optional>

namespace qs::eval {

/// The tokens of each expert, ascending. `scores`: [tokens, experts], of the router.
std::vector<std::vector<Routed>> route(const Mixture& mixture, std::span<const float> scores);

/// The MLPs of one layer. Those of an expert are loaded when tokens come to it, once for all tokens of a call.
class Experts {
public:
    /// Takes the matrices out of `weights`. `sizes`: of the rows that go through the router at once. `keeps`: whether experts stay
    /// prepared for the next call.
    Experts(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers, bool keeps);
    /// Rows of `input`, [blocks of sizes.rowsOfBlock, hidden], of which `tokens` count; `result`: [tokens, hidden]. Errors: cancelled, an
    /// expert cannot be loaded.
    Result<void> operator()(const float* input, std::size_t tokens, float* result, PassRoom& room, const Job& job,
                            const InputTap& tap) const;
    std::size_t bytes() const; ///< of the products that are there

private:
    struct Products {
        mutable Linear gateUp, down;
    };
    Result<Products> productsOf(std::size_t expert, const Job& job) const;
    bool addExpert(std::size_t expert, const Products& products, std::span<const Routed> tokens, const float* input,
                   float* result, PassRoom& room, const Job& job, const InputTap& tap) const;

    const Network& net_;
    PassSizes sizes_;
    std::size_t inner_; ///< values between the two products of an expert, of a token
    const Workers& workers_;
    bool keeps_;
    mutable Linear router_;
    mutable std::function<Result<ExpertMatrices>(std::size_t expert, const Job& job)> load_;
    mutable std::vector<std::optional<Products>> experts_;
};

} // namespace qs::eval
