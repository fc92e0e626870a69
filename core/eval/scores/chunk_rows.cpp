// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/chunk_rows.h"

namespace qs::eval {
namespace {

Column<ChunkRow> chunkNumber(const char* id, const char* title, const char* unit, const char* tip,
                             double ChunkRow::*figure, Show show = Show::Significant, int digits = 4) {
    Column<ChunkRow> column;
    column.id = id, column.title = title, column.unit = unit, column.tip = tip;
    column.show = show, column.decimals = digits;
    column.value = [figure](const ChunkRow& row) -> Value { return row.*figure; };
    return column;
}

Column<ChunkRow> chunkCount(const char* id, const char* title, const char* tip, std::size_t ChunkRow::*count) {
    Column<ChunkRow> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Integer, column.decimals = 0;
    column.value = [count](const ChunkRow& row) -> Value { return std::int64_t(row.*count); };
    return column;
}

} // namespace

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
    static const Columns<ChunkRow> columns = [] {
        Columns<ChunkRow> out(1);
        out[0].id = "name", out[0].title = "Compared", out[0].show = Show::Code;
        out[0].tip = "A spec, a recipe or a model.";
        out[0].value = [](const ChunkRow& row) -> Value { return row.name; };
        out.push_back(chunkCount("chunk", "Chunk", "Chunk of the text, from 0.", &ChunkRow::chunk));
        out.push_back(chunkCount("tokens", "Tokens", "Scored tokens with finite logits.", &ChunkRow::tokens));
        out.push_back(chunkNumber("kl_mean", "Mean KL", "nats", "Mean KL of the chunk.", &ChunkRow::divergence));
        out.push_back(chunkNumber("kl_max", "Max KL", "nats", "The largest KL of a token.", &ChunkRow::largest));
        out.push_back(chunkCount("worst_position", "At", "Position in the chunk of the last input before that token.",
                                 &ChunkRow::worstPosition));
        out.push_back(chunkNumber("dlnppl", "ln PPL ratio", "nats", "Mean change of -ln p.", &ChunkRow::nllChange));
        out.push_back(chunkNumber("top1", "Same top", "", "Share of tokens with the same most probable next token.",
                                  &ChunkRow::sameTop, Show::Percent, 2));
        return out;
    }();
    return columns;
}

} // namespace qs::eval
