// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/prepared_layer.h"

#include "core/eval/forward/rows.h"
#include "kernels/network/row_math.h"

namespace qs::eval {
namespace {

constexpr std::size_t kRowsOfTask = 16;

} // namespace

PreparedLayer::PreparedLayer(const Network& network, LayerWeights weights, const LayerPlan& plan, const PassRoom& room)
    : net_(network), w_(std::move(weights)), attention_(network, w_, plan, room) {
    if (plan.hasExperts)
        experts_.emplace(network, w_, room);
    else
        feedForward_.emplace(network, w_, room);
}

std::size_t PreparedLayer::bytes() const {
    return attention_.bytes() + (experts_ ? experts_->bytes() : feedForward_->bytes());
}

bool PreparedLayer::operator()(float* x, std::size_t tokens, PassRoom& room, const Job& job,
                               const InputTap& tap) const {
    enter(x, tokens, w_.attentionNorm, w_.attentionNormBias, room);
    if (!attention_(tokens, room, job, tap)) return false;
    leave(x, tokens, w_.afterAttentionNorm, w_.afterAttentionNormBias, room);
    enter(x, tokens, w_.mlpNorm, w_.mlpNormBias, room);
    if (!(experts_ ? (*experts_)(tokens, room, job, tap) : (*feedForward_)(tokens, room, job, tap))) return false;
    leave(x, tokens, w_.afterMlpNorm, w_.afterMlpNormBias, room);
    return true;
}

/// The products take all rows of a block: those beyond `tokens` are 0.
void PreparedLayer::enter(const float* x, std::size_t tokens, std::span<const float> norm, std::span<const float> bias,
                          PassRoom& room) const {
    const auto hidden = std::size_t(net_.hidden);
    std::fill(room.input.begin() + std::ptrdiff_t(tokens * hidden), room.input.end(), 0.0f);
    room.workers.each(tokens, kRowsOfTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        const std::span<const float> rows{x + begin * hidden, (end - begin) * hidden};
        if (norm.empty())
            std::copy(rows.begin(), rows.end(), room.input.data() + begin * hidden);
        else
            normalize(net_, rows, hidden, norm, bias, room.input.data() + begin * hidden);
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
