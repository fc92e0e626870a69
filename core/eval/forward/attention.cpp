// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/attention.h"

#include "core/eval/forward/rows.h"
#include "core/eval/network/rope.h"

namespace qs::eval {
namespace {

constexpr std::size_t kRowsPerTask = 8;

} // namespace

Attention::Attention(const Network& network, LayerWeights& weights, const LayerPlan& plan, const PassRoom& room,
                     const Tail& tail)
    : net_(network), w_(weights), plan_(plan), tail_(tail), queries_(std::size_t(network.heads * network.headSize)),
      keys_(std::size_t(network.keyValueHeads * network.headSize)),
      qkv_(prepared(std::move(weights.queryKeyValue), room.sizes.rowsOfBlock, queries_ + 2 * keys_,
                    std::size_t(network.hidden), room.workers)),
      output_(prepared(std::move(weights.output), tail.sizes.rowsOfBlock, std::size_t(network.hidden), queries_,
                       room.workers)) {}

void Attention::prepareHeads(std::size_t tokens, PassRoom& room) const {
    const std::size_t width = queries_ + 2 * keys_, size = std::size_t(net_.headSize);
    room.workers.each(tokens, kRowsPerTask, [&](std::size_t begin, std::size_t end, std::size_t) {
        addBias(w_.queryKeyValueBias, end - begin, room.projected.data() + begin * width);
        for (std::size_t t = begin; t < end; ++t) {
            float* row = room.projected.data() + t * width;
            if (!w_.queryNorm.empty()) {
                normalize(net_, {row, queries_}, w_.queryNorm.size(), w_.queryNorm, {}, row);
                normalize(net_, {row + queries_, keys_}, w_.keyNorm.size(), w_.keyNorm, {}, row + queries_);
            }
            if (plan_.rope < 0) continue;
            const std::size_t context = room.sizes.context, chunk = t / context * context;
            const Angles& angles = room.anglesOf(std::size_t(plan_.rope), std::min(context, tokens - chunk));
            const std::size_t at = (t - chunk) * angles.frequencies;
            for (std::size_t head = 0; head < queries_ + keys_; head += size)
                turn(row + head, angles.sines.data() + at, angles.cosines.data() + at, angles.frequencies,
                     net_.pairsAreNeighbours);
        }
    });
}

void Attention::attendChunks(std::size_t tokens, PassRoom& room) const {
    const auto size = std::size_t(net_.headSize), heads = std::size_t(net_.heads);
    const auto shared = heads / std::size_t(net_.keyValueHeads); // heads that share keys and values
    const std::size_t context = room.sizes.context, width = queries_ + 2 * keys_;
    const std::size_t chunks = (tokens + context - 1) / context;
    const auto headOf = [&](std::size_t chunk, std::size_t head) {
        const float* first = room.projected.data() + chunk * context * width;
        AttentionHead out;
        out.query = first + head * size;
        out.key = first + queries_ + head / shared * size, out.value = out.key + keys_;
        out.stride = width, out.length = std::min(context, tokens - chunk * context), out.size = size;
        out.window = std::size_t(plan_.window), out.isCausal = !net_.isEncoder;
        out.scale = net_.attentionScale, out.cap = net_.attentionCap;
        return out;
    };
    const auto packedOf = [&](std::size_t chunk, std::size_t head) {
        return room.packed.data() + packedHeadSize(context, size) * (chunk * heads + head) / shared;
    };
    room.workers.each(chunks * heads / shared, 1, [&](std::size_t task, std::size_t, std::size_t) {
        const std::size_t chunk = task / (heads / shared), head = task % (heads / shared) * shared;
        packHead(headOf(chunk, head), packedOf(chunk, head));
    });
    const std::size_t step = attentionQueries(), blocks = (context + step - 1) / step;
    room.workers.each(chunks * heads * blocks, 1, [&](std::size_t task, std::size_t, std::size_t worker) {
        const std::size_t chunk = task / blocks / heads, head = task / blocks % heads, first = task % blocks * step;
        const AttentionHead at = headOf(chunk, head);
        if (first >= at.length || first + step <= tail_.first) return;
        attend(at, packedOf(chunk, head / shared * shared), first, room.scratch[worker],
               room.attended.data() + (chunk * context + first) * queries_ + head * size, queries_);
    });
}

bool Attention::operator()(std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const {
    const auto hidden = std::size_t(net_.hidden);
    const std::size_t rows = room.sizes.rowsOfBlock;
    if (tap) tap({WeightRole::QueryKeyValue, std::span(room.input).first(tokens * hidden)});
    for (std::size_t at = 0; at < tokens; at += rows)
        if (!qkv_.run(room.input.data() + at * hidden, room.projected.data() + at * (queries_ + 2 * keys_), job))
            return false;
    prepareHeads(tokens, room);
    attendChunks(tokens, room);
    const std::size_t left = tail_.rows(tokens);
    if (tail_.first > 0) tail_.gather(room.attended.data(), tokens, queries_, room.attended.data());
    std::fill(room.attended.begin() + std::ptrdiff_t(left * queries_),
              room.attended.begin() + std::ptrdiff_t(tail_.sizes.rows() * queries_), 0.0f);
    if (tap) tap({WeightRole::Output, std::span(room.attended).first(left * queries_)});
    for (std::size_t at = 0; at < left; at += tail_.sizes.rowsOfBlock)
        if (!output_.run(room.attended.data() + at * queries_, room.result.data() + at * hidden, job)) return false;
    addBias(w_.outputBias, left, room.result.data());
    return true;
}

} // namespace qs::eval
