// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/pass_room.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {
namespace {

constexpr std::size_t kRowsTogether = 512, kMostRows = 768, kFewestRows = kExpertRows;

} // namespace

Angles::Angles(std::span<const double> frequency, double scale, std::size_t positions) : frequencies(frequency.size()) {
    sines.resize(positions * frequencies), cosines.resize(sines.size());
    for (std::size_t p = 0; p < positions; ++p)
        for (std::size_t i = 0; i < frequencies; ++i) {
            // As transformers computes it: frequency and product in f32.
            const float angle = float(p) * float(frequency[i]);
            sines[p * frequencies + i] = float(std::sin(double(angle)) * scale);
            cosines[p * frequencies + i] = float(std::cos(double(angle)) * scale);
        }
}

PassSizes::PassSizes(std::size_t chunkTokens, std::size_t textChunks)
    : context(chunkTokens), chunks(std::clamp<std::size_t>(kRowsTogether / context, 1, textChunks)),
      blocks((tokens() + kMostRows - 1) / kMostRows),
      rowsOfBlock(std::max(kFewestRows, (tokens() + blocks - 1) / blocks)) {}

PassSizes PassSizes::from(std::size_t first) const {
    PassSizes out = *this;
    out.context = context - first;
    out.blocks = std::max<std::size_t>(1, (out.tokens() + rowsOfBlock - 1) / rowsOfBlock);
    out.rowsOfBlock = std::max(kFewestRows, (out.tokens() + out.blocks - 1) / out.blocks);
    return out;
}

std::size_t Tail::rows(std::size_t tokens) const {
    const std::size_t rest = tokens % context;
    return tokens / context * (context - first) + (rest > first ? rest - first : 0);
}

void Tail::gather(const float* x, std::size_t tokens, std::size_t width, float* rows) const {
    for (std::size_t begin = 0; begin + first < tokens; begin += context) {
        const std::size_t end = std::min(begin + context, tokens);
        rows = std::copy(x + (begin + first) * width, x + end * width, rows);
    }
}

void Tail::scatter(const float* rows, std::size_t tokens, std::size_t width, float* x) const {
    for (std::size_t begin = 0; begin + first < tokens; begin += context) {
        const std::size_t count = (std::min(begin + context, tokens) - begin - first) * width;
        std::copy_n(rows, count, x + (begin + first) * width);
        rows += count;
    }
}

PassRoom::PassRoom(const Network& network, const PassSizes& wanted, unsigned threads)
    : sizes(wanted), workers(threads), scratch(workers.count()) {
    const auto hidden = std::size_t(network.hidden), experts = std::size_t(network.mixture.experts);
    const auto inner = std::size_t(std::max(network.intermediate, network.mixture.intermediate));
    const auto queries = std::size_t(network.heads * network.headSize);
    const auto keys = std::size_t(network.keyValueHeads * network.headSize);
    for (const Rope& rope : network.ropes) {
        const bool mayBeLong = rope.isLong(sizes.context);
        angles_.emplace_back(rope.frequency, rope.scale, sizes.context);
        longAngles_.emplace_back(mayBeLong ? rope.longFrequency : std::vector<double>(), rope.scale, sizes.context);
        longFrom_.push_back(mayBeLong ? std::size_t(rope.shortPositions) : sizes.context);
    }
    input.resize(sizes.rows() * hidden), result.resize(input.size());
    projected.resize(sizes.rows() * (queries + 2 * keys)), attended.resize(sizes.rows() * queries);
    packed.resize(packedHeadSize(sizes.tokens(), keys));
    wide.resize(sizes.rowsOfBlock * 2 * inner), activated.resize(sizes.rowsOfBlock * inner);
    if (experts > 0) routed.resize(kExpertRows * hidden), ofExpert.resize(routed.size());
}

std::size_t PassRoom::bytes() const {
    std::size_t values = 0;
    for (const auto* each :
         {&input, &result, &projected, &packed, &attended, &wide, &activated, &routed, &ofExpert, &tail})
        values += each->size();
    return values * sizeof(float);
}

} // namespace qs::eval
