// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/experts.h"

#include "core/eval/network/activation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qs::eval {
namespace {

/// Tokens that an expert multiplies at once.
constexpr std::size_t kExpertRows = 32;

void softmax(std::span<float> values) {
    const float most = *std::max_element(values.begin(), values.end());
    float sum = 0;
    for (float& value : values) sum += value = std::exp(value - most);
    for (float& value : values) value /= sum;
}

} // namespace

std::vector<std::vector<Routed>> route(const Mixture& mixture, std::span<const float> scores) {
    const auto experts = std::size_t(mixture.experts), used = std::size_t(mixture.used);
    std::vector<std::vector<Routed>> out(experts);
    std::vector<float> shares(experts);
    std::vector<std::size_t> order(experts);
    for (std::size_t t = 0; t < scores.size() / experts; ++t) {
        std::copy_n(scores.data() + t * experts, experts, shares.data());
        softmax(shares);
        std::iota(order.begin(), order.end(), std::size_t(0));
        // A share that is NaN has no order: then all are, and the first experts are taken.
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
        float sum = 0;
        for (std::size_t i = 0; i < used; ++i) sum += shares[order[i]];
        for (std::size_t i = 0; i < used; ++i)
            out[order[i]].push_back({t, mixture.sumsToOne ? shares[order[i]] / sum : shares[order[i]]});
    }
    return out;
}

Experts::Experts(const Network& network, const LayerWeights& weights, std::size_t context)
    : net_(network), w_(weights), router_(weights.experts.router.data(), context, std::size_t(network.mixture.experts),
                                          std::size_t(network.hidden), false),
      scores_(context * std::size_t(network.mixture.experts)), input_(kExpertRows * std::size_t(network.hidden)),
      wide_(kExpertRows * 2 * std::size_t(network.mixture.intermediate)), activated_(wide_.size() / 2),
      output_(input_.size()) {}

Experts::Prepared& Experts::prepared(std::size_t expert) {
    std::unique_ptr<Prepared>& products = prepared_[expert];
    const auto hidden = std::size_t(net_.hidden), inner = std::size_t(net_.mixture.intermediate);
    if (!products)
        products.reset(new Prepared{{w_.experts.gateUp[expert].data(), kExpertRows, 2 * inner, hidden, false},
                                    {w_.experts.down[expert].data(), kExpertRows, hidden, inner, false}});
    return *products;
}

bool Experts::addExpert(std::size_t expert, std::span<const Routed> tokens, const float* x, float* y, const Job& job) {
    Prepared& products = prepared(expert);
    const auto hidden = std::size_t(net_.hidden), inner = std::size_t(net_.mixture.intermediate);
    for (std::size_t begin = 0; begin < tokens.size(); begin += kExpertRows) {
        const auto part = tokens.subspan(begin, std::min(kExpertRows, tokens.size() - begin));
        std::fill(input_.begin() + std::ptrdiff_t(part.size() * hidden), input_.end(), 0.0f);
        for (std::size_t i = 0; i < part.size(); ++i)
            std::copy_n(x + part[i].token * hidden, hidden, input_.data() + i * hidden);
        if (!products.gateUp.run(input_.data(), wide_.data(), job)) return false;
        for (std::size_t i = 0; i < kExpertRows; ++i) {
            const float* gate = wide_.data() + i * 2 * inner;
            net_.activation->apply(gate, gate + inner, inner, activated_.data() + i * inner);
        }
        if (!products.down.run(activated_.data(), output_.data(), job)) return false;
        for (std::size_t i = 0; i < part.size(); ++i)
            for (std::size_t j = 0; j < hidden; ++j)
                y[part[i].token * hidden + j] += part[i].factor * output_[i * hidden + j];
    }
    return true;
}

bool Experts::operator()(const float* x, std::size_t length, float* y, const Job& job, const InputTap& tap) {
    if (tap) tap(WeightRole::Router, {x, length * std::size_t(net_.hidden)});
    if (!router_.run(x, scores_.data(), job)) return false;
    const auto experts = std::size_t(net_.mixture.experts);
    const auto tokens = route(net_.mixture, std::span<const float>(scores_).first(length * experts));
    std::fill_n(y, length * std::size_t(net_.hidden), 0.0f);
    for (std::size_t expert = 0; expert < experts; ++expert)
        if (!addExpert(expert, tokens[expert], x, y, job)) return false;
    return true;
}

} // namespace qs::eval
