// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The figures of every chunk of a text. They show where in the text a network loses most.

#include "core/base/column.h"
#include "core/eval/scores/token_score.h"

#include <string>
#include <vector>

namespace qs::eval {

struct ChunkRow {
    std::string name;                   ///< name of the spec, the recipe or the model
    std::size_t chunk = 0;              ///< number of the chunk, from 0
    std::size_t tokens = 0;             ///< scored tokens with finite logits; at least 1
    double divergence = 0, largest = 0; ///< mean and largest KL, nats
    double nllChange = 0, sameTop = 0;  ///< mean change of -ln p, nats; share of tokens
    std::size_t worstPosition = 0;      ///< position in the chunk of the input before the token with the largest KL
};
/// Appends the chunks that have tokens with finite logits.
void appendChunkRows(const std::string& name, std::span<const TokenScore> scores, std::vector<ChunkRow>& into);
const Columns<ChunkRow>& chunkColumns();

} // namespace qs::eval
