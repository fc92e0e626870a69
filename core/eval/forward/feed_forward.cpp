// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/feed_forward.h"

#include "core/eval/forward/rows.h"
#include "core/eval/network/activation.h"

namespace qs::eval {
namespace {

constexpr std::size_t kTokensPerTask = 8;

} // namespace

FeedForward::FeedForward(const Network& network, LayerWeights& weights, const PassSizes& sizes, const Workers& workers)
    : net_(network), w_(weights), sizes_(sizes), inner_(std::size_t(network.intermediate)),
      isGated_(weights.gateUp.size() == 2 * inner_ * std::size_t(network.hidden)),
      gateUp_(prepared(std::move(weights.gateUp), sizes.rowsOfBlock, isGated_ ? 2 * inner_ : inner_,
                       std::size_t(network.hidden), workers)),
      down_(prepared(std::move(weights.down), sizes.rowsOfBlock, std::size_t(network.hidden), inner_, workers)) {}

void FeedForward::activate(std::size_t tokens, PassRoom& room) const {
    const std::size_t width = isGated_ ? 2 * inner_ : inner_;
    room.workers.each(tokens, kTokensPerTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        addBias(w_.gateUpBias, end - begin, room.wide.data() + begin * width);
        for (std::size_t t = begin; t < end; ++t) {
            const float* row = room.wide.data() + t * width;
            net_.activation->apply(row, isGated_ ? row + inner_ : nullptr, inner_, room.activated.data() + t * inner_);
        }
    });
    std::fill(room.activated.begin() + std::ptrdiff_t(tokens * inner_),
              room.activated.begin() + std::ptrdiff_t(sizes_.rowsOfBlock * inner_), 0.0f);
}

bool FeedForward::operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    if (tap) tap({WeightRole::GateUp, std::span(room.input).first(tokens * hidden)});
    for (std::size_t at = 0; at < tokens; at += sizes_.rowsOfBlock) {
        const std::size_t count = std::min(sizes_.rowsOfBlock, tokens - at);
        if (!gateUp_.run(room.input.data() + at * hidden, room.wide.data(), job)) return false;
        activate(count, room);
        if (tap) tap({WeightRole::Down, std::span(room.activated).first(count * inner_)});
        if (!down_.run(room.activated.data(), room.result.data() + at * hidden, job)) return false;
    }
    addBias(w_.downBias, tokens, room.result.data());
    return true;
}

} // namespace qs::eval
