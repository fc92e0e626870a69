// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/feed_forward.h"

#include "core/base/parallel.h"
#include "core/eval/forward/rows.h"
#include "core/eval/network/activation.h"

#include <algorithm>

namespace qs::eval {
namespace {

constexpr std::size_t kTokensPerTask = 8;

} // namespace

FeedForward::FeedForward(const Network& network, const LayerWeights& weights, std::size_t context)
    : net_(network), w_(weights), inner_(std::size_t(network.intermediate)),
      isGated_(weights.gateUp.size() == 2 * inner_ * std::size_t(network.hidden)),
      gateUp_(weights.gateUp.data(), context, isGated_ ? 2 * inner_ : inner_, std::size_t(network.hidden), false),
      down_(weights.down.data(), context, std::size_t(network.hidden), inner_, false),
      wide_(context * (isGated_ ? 2 : 1) * inner_), activated_(context * inner_) {}

bool FeedForward::operator()(const float* x, std::size_t length, float* y, const Job& job, const InputTap& tap) {
    if (tap) tap(WeightRole::GateUp, {x, length * std::size_t(net_.hidden)});
    if (!gateUp_.run(x, wide_.data(), job)) return false;
    addBias(w_.gateUpBias, length, wide_.data());
    std::fill(activated_.begin() + std::ptrdiff_t(length * inner_), activated_.end(), 0.0f);
    parallelFor(length, kTokensPerTask, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t t = begin; t < end; ++t) {
            const float* row = wide_.data() + t * (isGated_ ? 2 : 1) * inner_;
            float* out = activated_.data() + t * inner_;
            net_.activation->apply(row, isGated_ ? row + inner_ : nullptr, inner_, out);
        }
    });
    if (tap) tap(WeightRole::Down, std::span(activated_).first(length * inner_));
    if (!down_.run(activated_.data(), y, job)) return false;
    addBias(w_.downBias, length, y);
    return true;
}

} // namespace qs::eval
