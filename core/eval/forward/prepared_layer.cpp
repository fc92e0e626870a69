// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/prepared_layer.h"

#include "core/eval/forward/rows.h"
#include "kernels/network/row_math.h"

namespace qs::eval {
namespace {

constexpr std::size_t kRowsOfTask = 16;

} // namespace

PreparedLayer::PreparedLayer(const Network& network, LayerWeights weights, const LayerPlan& plan, const PassRoom& room,
                             std::size_t first)
    : net_(network), w_(std::move(weights)), tail_(room.sizes, first), attention_(network, w_, plan, room, tail_) {
    if (plan.hasExperts)
        experts_.emplace(network, w_, tail_.sizes, room.workers);
    else
        feedForward_.emplace(network, w_, tail_.sizes, room.workers);
}

std::size_t PreparedLayer::bytes() const {
    return attention_.bytes() + (experts_ ? experts_->bytes() : feedForward_->bytes());
}

bool PreparedLayer::operator()(float* x, std::size_t tokens, PassRoom& room, const Job& job,
                               const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    enter(x, tokens, room.sizes.rows(), w_.attentionNorm, w_.attentionNormBias, room);
    if (!attention_(tokens, room, job, tap)) return false;
    // From here on only rows that are needed.
    const std::size_t left = tail_.rows(tokens);
    float* rows = x;
    if (tail_.first > 0) {
        room.tail.resize(tail_.sizes.rows() * hidden);
        rows = room.tail.data();
        tail_.gather(x, tokens, hidden, rows);
    }
    leave(rows, left, w_.afterAttentionNorm, w_.afterAttentionNormBias, room);
    enter(rows, left, tail_.sizes.rows(), w_.mlpNorm, w_.mlpNormBias, room);
    if (!(experts_ ? (*experts_)(left, room, job, tap) : (*feedForward_)(left, room, job, tap))) return false;
    leave(rows, left, w_.afterMlpNorm, w_.afterMlpNormBias, room);
    if (tail_.first > 0) tail_.scatter(rows, tokens, hidden, x);
    return true;
}

/// `rows`: what the products take; those beyond `tokens` are 0.
void PreparedLayer::enter(const float* x, std::size_t tokens, std::size_t rows, std::span<const float> norm,
                          std::span<const float> bias, PassRoom& room) const {
    const auto hidden = std::size_t(net_.hidden);
    std::fill_n(room.input.data() + tokens * hidden, (rows - tokens) * hidden, 0.0f);
    room.workers.each(tokens, kRowsOfTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        const std::span<const float> from{x + begin * hidden, (end - begin) * hidden};
        if (norm.empty())
            std::copy(from.begin(), from.end(), room.input.data() + begin * hidden);
        else
            normalize(net_, from, hidden, norm, bias, room.input.data() + begin * hidden);
    });
}

void PreparedLayer::leave(float* x, std::size_t tokens, std::span<const float> norm, std::span<const float> bias,
                          PassRoom& room) const {
    const auto hidden = std::size_t(net_.hidden);
    room.workers.each(tokens, kRowsOfTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        float *rows = room.result.data() + begin * hidden, *sums = x + begin * hidden;
        const std::size_t n = (end - begin) * hidden;
        if (!norm.empty() && !net_.normsSums) normalize(net_, {rows, n}, hidden, norm, bias, rows);
        rowMath().plus(rows, n, sums);
        if (!norm.empty() && net_.normsSums) normalize(net_, {sums, n}, hidden, norm, bias, sums);
    });
}

} // namespace qs::eval
