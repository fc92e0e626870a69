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

Experts::Experts(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers)
    : net_(network), sizes_(sizes), inner_(std::size_t(network.mixture.intermediate)),
      router_(prepared(std::move(weights.experts.router), sizes.rowsOfBlock, std::size_t(network.mixture.experts),
                       std::size_t(network.hidden), workers)) {
    const auto hidden = std::size_t(net_.hidden);
    for (std::size_t e = 0; e < weights.experts.gateUp.size(); ++e)
        experts_.push_back({prepared(std::move(weights.experts.gateUp[e]), kExpertRows, 2 * inner_, hidden, workers),
                            prepared(std::move(weights.experts.down[e]), kExpertRows, hidden, inner_, workers)});
}

std::size_t Experts::bytes() const {
    std::size_t sum = router_.bytes();
    for (const Products& each : experts_) sum += each.gateUp.bytes() + each.down.bytes();
    return sum;
}

bool Experts::addExpert(std::size_t expert, std::span<const Routed> tokens, PassRoom& room, const Job& job,
                        const InputTap& tap) const {
    Products& products = experts_[expert];
    const auto hidden = std::size_t(net_.hidden);
    for (std::size_t begin = 0; begin < tokens.size(); begin += kExpertRows) {
        const auto part = tokens.subspan(begin, std::min(kExpertRows, tokens.size() - begin));
        std::fill(room.routed.begin() + std::ptrdiff_t(part.size() * hidden), room.routed.end(), 0.0f);
        for (std::size_t i = 0; i < part.size(); ++i)
            std::copy_n(room.input.data() + part[i].token * hidden, hidden, room.routed.data() + i * hidden);
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
            float* to = room.result.data() + part[i].token * hidden;
            for (std::size_t j = 0; j < hidden; ++j) to[j] += part[i].factor * from[j];
        }
    }
    return true;
}

bool Experts::operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden), experts = experts_.size();
    if (tap) tap({WeightRole::Router, std::span(room.input).first(tokens * hidden)});
    for (std::size_t at = 0; at < tokens; at += sizes_.rowsOfBlock)
        if (!router_.run(room.input.data() + at * hidden, room.scores.data() + at * experts, job)) return false;
    const auto routes = route(net_.mixture, std::span<const float>(room.scores).first(tokens * experts));
    std::fill_n(room.result.data(), tokens * hidden, 0.0f);
    for (std::size_t e = 0; e < experts; ++e)
        if (!addExpert(e, routes[e], room, job, tap)) return false;
    return true;
}

} // namespace qs::eval
