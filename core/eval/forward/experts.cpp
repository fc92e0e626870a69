// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/experts.h"

#include "core/eval/forward/rows.h"
#include "core/eval/network/activation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qs::eval {
namespace {

constexpr std::size_t kRowsOfActivation = 8;

void softmax(std::span<float> values) {
    const float most = *std::ranges::max_element(values);
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
        // If one share is NaN, all are. They cannot be ordered then, so the first experts are taken.
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
        float sum = 0;
        for (std::size_t i = 0; i < used; ++i) sum += shares[order[i]];
        for (std::size_t i = 0; i < used; ++i)
            out[order[i]].push_back({t, mixture.sumsToOne ? shares[order[i]] / sum : shares[order[i]]});
    }
    return out;
}

Experts::Experts(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers,
                 bool keeps)
    : net_(network), sizes_(sizes), inner_(std::size_t(network.mixture.intermediate)), workers_(workers), keeps_(keeps),
      router_(prepared(std::move(weights.experts.router), sizes.rowsOfBlock, std::size_t(network.mixture.experts),
                       std::size_t(network.hidden), workers)),
      load_(std::move(weights.experts.load)), experts_(std::size_t(network.mixture.experts)) {}

Result<Experts::Products> Experts::productsOf(std::size_t expert, const Job& job) const {
    auto loaded = load_(expert, job);
    if (!loaded) return tl::unexpected(loaded.error());
    const auto hidden = std::size_t(net_.hidden);
    return Products{prepared(std::move(loaded->gateUp), kExpertRows, 2 * inner_, hidden, workers_),
                    prepared(std::move(loaded->down), kExpertRows, hidden, inner_, workers_)};
}

bool Experts::addExpert(std::size_t expert, const Products& products, std::span<const Routed> tokens,
                        const float* input, float* result, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    for (std::size_t begin = 0; begin < tokens.size(); begin += kExpertRows) {
        const auto part = tokens.subspan(begin, std::min(kExpertRows, tokens.size() - begin));
        std::fill(room.routed.begin() + std::ptrdiff_t(part.size() * hidden), room.routed.end(), 0.0f);
        for (std::size_t i = 0; i < part.size(); ++i)
            std::copy_n(input + part[i].token * hidden, hidden, room.routed.data() + i * hidden);
        if (tap) tap({WeightRole::ExpertGateUp, std::span(room.routed).first(part.size() * hidden), int(expert), part});
        if (!products.gateUp.run(room.routed.data(), room.wide.data(), job)) return false;
        room.workers.each(kExpertRows, kRowsOfActivation, [&](std::size_t first, std::size_t end, std::size_t) {
            for (std::size_t i = first; i < end; ++i) {
                const float* gate = room.wide.data() + i * 2 * inner_;
                net_.activation->apply(gate, gate + inner_, inner_, room.activated.data() + i * inner_);
            }
        });
        if (tap)
            tap({WeightRole::ExpertDown, std::span(room.activated).first(part.size() * inner_), int(expert), part});
        if (!products.down.run(room.activated.data(), room.ofExpert.data(), job)) return false;
        for (std::size_t i = 0; i < part.size(); ++i) {
            const float* from = room.ofExpert.data() + i * hidden;
            float* to = result + part[i].token * hidden;
            for (std::size_t j = 0; j < hidden; ++j) to[j] += part[i].factor * from[j];
        }
    }
    return true;
}

Result<void> Experts::operator()(const float* input, std::size_t tokens, float* result, PassRoom& room, const Job& job,
                                 const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    const std::size_t experts = experts_.size(), rows = sizes_.rowsOfBlock;
    if (tap) tap({WeightRole::Router, {input, tokens * hidden}});
    std::vector<float> scores((tokens + rows - 1) / rows * rows * experts);
    for (std::size_t at = 0; at < tokens; at += rows)
        if (!router_.run(input + at * hidden, scores.data() + at * experts, job)) return cancelledError();
    const auto routes = route(net_.mixture, std::span<const float>(scores).first(tokens * experts));
    std::fill_n(result, tokens * hidden, 0.0f);
    for (std::size_t e = 0; e < experts; ++e) {
        if (routes[e].empty() && !keeps_) continue;
        if (!experts_[e]) {
            auto made = productsOf(e, job);
            if (!made) return tl::unexpected(made.error());
            experts_[e].emplace(std::move(*made));
        }
        const bool done = addExpert(e, *experts_[e], routes[e], input, result, room, job, tap);
        if (!keeps_) experts_[e].reset();
        if (!done) return cancelledError();
    }
    if (keeps_) load_ = {}; // all experts are loaded; frees the function, which may hold values of whole tensors
    return {};
}

} // namespace qs::eval
