// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/scored_text.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {

Result<ScoredText> scoredText(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunks,
                              Scored scored, const Network& network) {
    if (auto checked = checkTokens(tokens, context, network); !checked) return tl::unexpected(checked.error());
    const bool half = scored == Scored::SecondHalf;
    ScoredText out;
    out.inputs = half ? tokens.size() / context * context : tokens.size();
    if (chunks > 0) out.inputs = std::min(out.inputs, chunks * context);
    for (std::size_t begin = 0, chunk = 0; begin < out.inputs; begin += context, ++chunk) {
        const std::size_t end = std::min(begin + context, out.inputs);
        const ScoredRange range{chunk, begin + firstScored(scored, context),
                                half ? end - 1 : std::min(end, tokens.size() - 1)};
        if (range.begin < range.end) out.ranges.push_back(range);
    }
    if (out.ranges.empty())
        return fail(fmt::format("The text has {} tokens; a context of {} needs at least {}.", tokens.size(), context,
                                half ? context : 2));
    if (!half && out.inputs == tokens.size()) out.inputs -= 1; // the last token is no input: nothing follows it
    out.chunks = (out.inputs + context - 1) / context;
    return out;
}

Result<void> checkTokens(std::span<const std::int32_t> tokens, std::size_t context, const Network& net) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] < 0 || tokens[i] >= net.vocabulary)
            return fail(fmt::format("Token {} of the text is {}; the vocabulary has {} tokens, from 0 on.", i + 1,
                                    tokens[i], net.vocabulary));
    if (context < 2) return fail("A context has at least 2 tokens.");
    if (net.positions > 0 && std::int64_t(context) > net.positions)
        return fail(fmt::format("The network was made for {} positions: use a context of at most {}, not {}.",
                                net.positions, net.positions, context));
    return {};
}

void compareLogits(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunk, std::size_t first,
                   std::size_t count, std::size_t vocabulary, std::span<const float> reference,
                   std::span<const float> other, std::vector<TokenScore>& into, ReferenceKind kind) {
    const std::size_t begin = into.size();
    into.resize(begin + count);
    parallelFor(count, 1, [&](std::size_t from, std::size_t to, unsigned) {
        for (std::size_t i = from; i < to; ++i) {
            TokenScore score = scoreToken(reference.subspan(i * vocabulary, vocabulary),
                                          other.subspan(i * vocabulary, vocabulary), tokens[first + i + 1], kind);
            score.chunk = chunk, score.position = (first + i) % context;
            into[begin + i] = score;
        }
    });
}

} // namespace qs::eval
