// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The mixture of experts of one layer: each token goes through a few of many MLPs. A router scores the experts. A
// softmax over all scores is computed in f32, and the experts with the largest values are used; of equal ones the
// first. An expert computes only the tokens that are sent to it. The outputs of a token's experts are added in the
// order of the experts' numbers.

#include "core/base/job.h"
#include "core/eval/forward/input_tap.h"
#include "core/eval/forward/linear.h"
#include "core/eval/forward/pass_room.h"
#include "core/eval/network/network_weights.h"

#include <optional>

namespace qs::eval {

/// For each expert its tokens, in ascending order. `scores` are those of the router: [tokens, experts].
std::vector<std::vector<Routed>> route(const Mixture& mixture, std::span<const float> scores);

/// The MLPs of one layer. The MLP of an expert is loaded when it gets tokens, once for all tokens of a call.
class Experts {
public:
    /// Moves the matrices out of `weights`. `sizes` are those of the rows that the router takes at once. With `keeps`
    /// the experts stay prepared for the next call.
    Experts(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers, bool keeps);
    /// `input` has whole blocks of sizes.rowsOfBlock rows, [rows, hidden]; the first `tokens` rows are used. `result`
    /// is [tokens, hidden]. Errors: the job is cancelled, or an expert cannot be loaded.
    Result<void> operator()(const float* input, std::size_t tokens, float* result, PassRoom& room, const Job& job,
                            const InputTap& tap) const;

private:
    struct Products {
        mutable Linear gateUp, down;
    };
    Result<Products> productsOf(std::size_t expert, const Job& job) const;
    bool addExpert(std::size_t expert, const Products& products, std::span<const Routed> tokens, const float* input,
                   float* result, PassRoom& room, const Job& job, const InputTap& tap) const;

    const Network& net_;
    PassSizes sizes_;
    std::size_t inner_; ///< values of a token between the two products of an expert
    const Workers& workers_;
    bool keeps_;
    mutable Linear router_;
    mutable std::function<Result<ExpertMatrices>(std::size_t expert, const Job& job)> load_;
    mutable std::vector<std::optional<Products>> experts_;
};

} // namespace qs::eval
