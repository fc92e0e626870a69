// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/chunk_rows.h"

#include "core/base/cell.h"

namespace qs::eval {
void appendChunkRows(const std::string& name, std::span<const TokenScore> scores, std::vector<ChunkRow>& into) {
    const std::size_t first = into.size();
    for (const TokenScore& score : scores) {
        if (!score.finite) continue;
        if (into.size() == first || into.back().chunk != score.chunk) {
            ChunkRow row;
            row.name = name, row.chunk = score.chunk;
            row.largest = score.divergence, row.worstPosition = score.position;
            into.push_back(std::move(row));
        }
        ChunkRow& row = into.back();
        ++row.tokens;
        row.divergence += score.divergence, row.nllChange += score.nll - score.referenceNll;
        row.sameTop += score.sameTop ? 1 : 0;
        if (score.divergence > row.largest) row.largest = score.divergence, row.worstPosition = score.position;
    }
    for (std::size_t i = first; i < into.size(); ++i)
        for (double* sum : {&into[i].divergence, &into[i].nllChange, &into[i].sameTop}) *sum /= double(into[i].tokens);
}

const Columns<ChunkRow>& chunkColumns() {
    using R = ChunkRow;
    constexpr auto none = Direction::None;
    static const Columns<R> columns = {
        columnOf<R>({"name", "Compared", "", Show::Code, 2, none, "A spec, a recipe or a model."}, &R::name),
        columnOf<R>({"chunk", "Chunk", "", Show::Integer, 0, none, "Chunk of the text, from 0."}, &R::chunk),
        columnOf<R>({"tokens", "Tokens", "", Show::Integer, 0, none, "Scored tokens with finite logits."}, &R::tokens),
        columnOf<R>({"kl_mean", "Mean KL", "nats", Show::Significant, 4, none, "Mean KL of the chunk."},
                    &R::divergence),
        columnOf<R>({"kl_max", "Max KL", "nats", Show::Significant, 4, none, "The largest KL of a token."},
                    &R::largest),
        columnOf<R>({"worst_position", "At", "", Show::Integer, 0, none,
                     "Position in the chunk of the last input before that token."},
                    &R::worstPosition),
        columnOf<R>({"dlnppl", "ln PPL ratio", "nats", Show::Significant, 4, none, "Mean change of -ln p."},
                    &R::nllChange),
        columnOf<R>(
            {"top1", "Same top", "", Show::Percent, 2, none, "Share of tokens with the same most probable next token."},
            &R::sameTop),
    };
    return columns;
}

} // namespace qs::eval
