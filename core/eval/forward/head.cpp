// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/head.h"

#include "core/base/parallel.h"
#include "core/eval/forward/rows.h"
#include "kernels/network/row_math.h"

namespace qs::eval {

Result<Head> Head::load(const Network& network, const NetworkWeights& weights, const WeightChange* change,
                        const Job& job) {
    if (network.isEncoder) return fail("An encoder makes embeddings and predicts no tokens.");
    auto norm = weights.finalNorm(job), bias = weights.finalNormBias(job);
    auto matrix = weights.head(change, job);
    for (const auto* loaded : {&norm, &bias})
        if (!*loaded) return tl::unexpected(loaded->error());
    if (!matrix) return tl::unexpected(matrix.error());
    return Head(network, std::move(*norm), std::move(*bias), std::move(*matrix));
}

Head::Head(const Network& network, std::vector<float> norm, std::vector<float> bias, WeightMatrix matrix)
    : net_(&network), norm_(std::move(norm)), bias_(std::move(bias)), workers_(workerCount()),
      product_(std::make_unique<Linear>(prepared(std::move(matrix), kLogitRows, std::size_t(network.vocabulary),
                                                 std::size_t(network.hidden), workers_))) {}

bool Head::operator()(const HiddenStates& states, std::size_t first, std::size_t count, std::vector<float>& out,
                      const Job& job) {
    const auto hidden = std::size_t(net_->hidden);
    std::vector<float> input(kLogitRows * hidden, 0.0f);
    normalize(*net_, states.rows(first, count), hidden, norm_, bias_, input.data());
    out.resize(kLogitRows * std::size_t(net_->vocabulary));
    if (!product_->run(input.data(), out.data(), job)) return false;
    const auto vocabulary = std::size_t(net_->vocabulary);
    if (net_->logitCap > 0)
        workers_.each(count, 1, [&](std::size_t row, std::size_t, std::size_t) {
            rowMath().capped(out.data() + row * vocabulary, vocabulary, net_->logitCap, out.data() + row * vocabulary);
        });
    return true;
}

} // namespace qs::eval
