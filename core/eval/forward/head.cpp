// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/head.h"

#include "core/eval/forward/rows.h"

#include <cmath>

namespace qs::eval {

Result<Head> Head::load(const Network& network, const NetworkWeights& weights, const WeightChange* change,
                        const Job& job) {
    if (network.isEncoder) return fail("An encoder makes embeddings and predicts no tokens.");
    auto norm = weights.finalNorm(job), bias = weights.finalNormBias(job), matrix = weights.head(change, job);
    for (const auto* loaded : {&norm, &bias, &matrix})
        if (!*loaded) return tl::unexpected(loaded->error());
    return Head(network, std::move(*norm), std::move(*bias), *matrix);
}

Head::Head(const Network& network, std::vector<float> norm, std::vector<float> bias, const std::vector<float>& matrix)
    : net_(&network), norm_(std::move(norm)), bias_(std::move(bias)),
      product_(std::make_unique<value::PreparedProduct>(matrix.data(), kLogitRows, std::size_t(network.vocabulary),
                                                        std::size_t(network.hidden), false)) {}

bool Head::operator()(const HiddenStates& states, std::size_t first, std::size_t count, std::vector<float>& out,
                      const Job& job) {
    const auto hidden = std::size_t(net_->hidden);
    std::vector<float> input(kLogitRows * hidden, 0.0f);
    normalize(*net_, states.rows(first, count), hidden, norm_, bias_, input.data());
    out.resize(kLogitRows * std::size_t(net_->vocabulary));
    if (!product_->run(input.data(), out.data(), job)) return false;
    if (net_->logitCap > 0)
        for (float& logit : out) logit = net_->logitCap * std::tanh(logit / net_->logitCap);
    return true;
}

} // namespace qs::eval
