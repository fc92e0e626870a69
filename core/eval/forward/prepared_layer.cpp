// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/prepared_layer.h"

#include "core/eval/forward/rows.h"
#include "kernels/network/row_math.h"

#include <algorithm>

namespace qs::eval {
namespace {

constexpr std::size_t kRowsOfTask = 16;

} // namespace

PreparedLayer::PreparedLayer(const Network& network, LayerWeights weights, const LayerPlan& plan, const PassRoom& room,
                             std::size_t first, bool keepsExperts)
    : net_(network), w_(std::move(weights)), tail_(room.sizes, first), attention_(network, w_, plan, room, tail_) {
    if (plan.hasExperts)
        experts_.emplace(network, w_, tail_.sizes, room.workers, keepsExperts);
    else
        feedForward_.emplace(network, w_, tail_.sizes, room.workers);
}

Result<void> PreparedLayer::operator()(std::span<float> x, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    const std::size_t tokens = x.size() / hidden, together = room.sizes.tokens();
    for (std::size_t begin = 0; begin < tokens; begin += together)
        if (!attend(x.data() + begin * hidden, std::min(together, tokens - begin), room, job, tap) || job.cancelled())
            return cancelledError();
    return experts_ ? mix(x, room, job, tap) : Result<void>();
}

/// Computes attention and the MLP for at most PassSizes::tokens() tokens. A mixture of experts is computed in mix().
bool PreparedLayer::attend(float* x, std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    enter(x, tokens, w_.attentionNorm, w_.attentionNormBias, room,
          std::span(room.input).first(room.sizes.rows() * hidden));
    if (!attention_(tokens, room, job, tap)) return false;
    // From here on only rows that are needed.
    const std::size_t left = tail_.rows(tokens);
    float* rows = x;
    if (tail_.first > 0) {
        room.tail.resize(std::max(room.tail.size(), tail_.sizes.rows() * hidden));
        rows = room.tail.data();
        tail_.gather(x, tokens, hidden, rows);
    }
    const auto results = std::span(room.result).first(left * hidden);
    leave(results, w_.afterAttentionNorm, w_.afterAttentionNormBias, room, rows);
    if (feedForward_) {
        enter(rows, left, w_.mlpNorm, w_.mlpNormBias, room, std::span(room.input).first(tail_.sizes.rows() * hidden));
        if (!(*feedForward_)(left, room, job, tap)) return false;
        leave(results, w_.afterMlpNorm, w_.afterMlpNormBias, room, rows);
    }
    if (tail_.first > 0) tail_.scatter(rows, tokens, hidden, x);
    return true;
}

/// The mixture over all tokens, so that every expert is loaded once.
Result<void> PreparedLayer::mix(std::span<float> x, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    const std::size_t tokens = x.size() / hidden, left = tail_.rows(tokens), rows = tail_.sizes.rowsOfBlock;
    std::vector<float> needed(tail_.first > 0 ? left * hidden : 0);
    if (tail_.first > 0) tail_.gather(x.data(), tokens, hidden, needed.data());
    float* sums = tail_.first > 0 ? needed.data() : x.data();
    std::vector<float> input((left + rows - 1) / rows * rows * hidden), results(left * hidden);
    enter(sums, left, w_.mlpNorm, w_.mlpNormBias, room, input);
    if (auto done = (*experts_)(input.data(), left, results.data(), room, job, tap); !done) return done;
    leave(results, w_.afterMlpNorm, w_.afterMlpNormBias, room, sums);
    if (tail_.first > 0) tail_.scatter(sums, tokens, hidden, x.data());
    return {};
}

/// Normalizes `tokens` rows into `into`. Rows behind them become 0, because the products take all rows.
void PreparedLayer::enter(const float* x, std::size_t tokens, std::span<const float> norm, std::span<const float> bias,
                          const PassRoom& room, std::span<float> into) const {
    const auto hidden = std::size_t(net_.hidden);
    std::fill(into.begin() + std::ptrdiff_t(tokens * hidden), into.end(), 0.0f);
    room.workers.each(tokens, kRowsOfTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        const std::span<const float> from{x + begin * hidden, (end - begin) * hidden};
        if (norm.empty())
            std::copy(from.begin(), from.end(), into.data() + begin * hidden);
        else
            normalize(net_, from, hidden, norm, bias, into.data() + begin * hidden);
    });
}

void PreparedLayer::leave(std::span<float> results, std::span<const float> norm, std::span<const float> bias,
                          const PassRoom& room, float* x) const {
    const auto hidden = std::size_t(net_.hidden);
    room.workers.each(results.size() / hidden, kRowsOfTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        float *rows = results.data() + begin * hidden, *sums = x + begin * hidden;
        const std::size_t n = (end - begin) * hidden;
        if (!norm.empty() && !net_.normsSums) normalize(net_, {rows, n}, hidden, norm, bias, rows);
        rowMath().plus(rows, n, sums);
        if (!norm.empty() && net_.normsSums) normalize(net_, {sums, n}, hidden, norm, bias, sums);
    });
}

} // namespace qs::eval
