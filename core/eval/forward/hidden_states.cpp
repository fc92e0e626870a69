// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/hidden_states.h"

#include "core/eval/forward/attention.h"
#include "core/eval/forward/experts.h"
#include "core/eval/forward/feed_forward.h"
#include "core/eval/forward/rows.h"

#include <algorithm>
#include <optional>

namespace qs::eval {
namespace {

/// One layer over chunks, with the buffers of one chunk of `context` tokens.
class LayerPass {
public:
    LayerPass(const Network& net, const LayerWeights& weights, const LayerPlan& plan, std::size_t context)
        : net_(net), w_(weights), hidden_(std::size_t(net.hidden)), attention_(net, weights, plan, context),
          input_(context * hidden_), result_(context * hidden_) {
        if (plan.hasExperts)
            experts_.emplace(net, weights, context);
        else
            feedForward_.emplace(net, weights, context);
    }

    /// `x`: [length, hidden], changed in place. False: cancelled.
    bool operator()(float* x, std::size_t length, const Job& job, const InputTap& tap) {
        enter(x, length, w_.attentionNorm, w_.attentionNormBias);
        if (!attention_(input_.data(), length, result_.data(), job, tap)) return false;
        leave(x, length, w_.afterAttentionNorm, w_.afterAttentionNormBias);
        enter(x, length, w_.mlpNorm, w_.mlpNormBias);
        if (!(experts_ ? (*experts_)(input_.data(), length, result_.data(), job, tap)
                       : (*feedForward_)(input_.data(), length, result_.data(), job, tap)))
            return false;
        leave(x, length, w_.afterMlpNorm, w_.afterMlpNormBias);
        return true;
    }

private:
    /// The products take all rows of a chunk: those beyond `length` are 0.
    void enter(const float* x, std::size_t length, std::span<const float> norm, std::span<const float> bias) {
        std::fill(input_.begin() + std::ptrdiff_t(length * hidden_), input_.end(), 0.0f);
        if (norm.empty())
            std::copy_n(x, length * hidden_, input_.begin());
        else
            normalize(net_, {x, length * hidden_}, hidden_, norm, bias, input_.data());
    }
    void leave(float* x, std::size_t length, std::span<const float> norm, std::span<const float> bias) {
        const std::size_t n = length * hidden_;
        if (!norm.empty() && !net_.normsSums) normalize(net_, {result_.data(), n}, hidden_, norm, bias, result_.data());
        for (std::size_t i = 0; i < n; ++i) x[i] += result_[i];
        if (!norm.empty() && net_.normsSums) normalize(net_, {x, n}, hidden_, norm, bias, x);
    }

    const Network& net_;
    const LayerWeights& w_;
    std::size_t hidden_;
    Attention attention_;
    std::optional<FeedForward> feedForward_;
    std::optional<Experts> experts_; ///< in place of feedForward_
    std::vector<float> input_, result_;
};

} // namespace

Result<void> HiddenStates::pass(const LayerWeights& weights, const LayerPlan& plan, const Job& job,
                                const InputTap& tap) {
    HiddenStates* one = this;
    return passAll(std::span(&one, 1), weights, plan, job, tap);
}

Result<void> HiddenStates::passAll(std::span<HiddenStates* const> states, const LayerWeights& weights,
                                   const LayerPlan& plan, const Job& job, const InputTap& tap) {
    if (states.empty()) return {};
    const Network& network = states.front()->network_;
    const auto hidden = std::size_t(network.hidden);
    const std::size_t context = states.front()->context_, tokens = states.front()->tokens();
    LayerPass layer(network, weights, plan, std::min(context, tokens));
    for (HiddenStates* each : states)
        for (std::size_t begin = 0; begin < tokens; begin += context)
            if (!layer(each->values_.data() + begin * hidden, std::min(context, tokens - begin), job, tap) ||
                job.cancelled())
                return cancelledError();
    return {};
}

std::span<const float> HiddenStates::rows(std::size_t first, std::size_t count) const {
    const auto hidden = std::size_t(network_.hidden);
    return std::span(values_).subspan(first * hidden, count * hidden);
}

} // namespace qs::eval
