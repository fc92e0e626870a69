// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Decides which tokens of a text are inputs, and which of their predictions are scored.

#include "core/base/result.h"
#include "core/eval/network/network.h"
#include "core/eval/scores/token_score.h"

#include <string>
#include <vector>

namespace qs::eval {

/// The predictions that are scored.
enum class Scored {
    SecondHalf, ///< like llama.cpp: in a chunk of C tokens those of inputs C/2 to C - 2
    All         ///< those of all inputs but the last; the last token of a chunk predicts the first of the next chunk
};

/// The first position of a chunk whose prediction may be scored.
constexpr std::size_t firstScored(Scored scored, std::size_t context) {
    return scored == Scored::SecondHalf ? context / 2 : 0;
}

/// The inputs of one chunk whose predictions are scored.
struct ScoredRange {
    std::size_t chunk = 0, begin = 0, end = 0; ///< positions in the whole text
};

struct ScoredText {
    std::size_t inputs = 0; ///< number of tokens, from the first one, that are inputs of the network
    std::size_t chunks = 0;
    std::vector<ScoredRange> ranges;
};

/// `chunks` is the most chunks to use; 0 means all. SecondHalf uses whole chunks only. Errors: a token is not in the
/// vocabulary, the network was not made for this context, or the text is too short.
Result<ScoredText> scoredText(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunks,
                              Scored scored, const Network& network);
/// Checks only tokens and context.
Result<void> checkTokens(std::span<const std::int32_t> tokens, std::size_t context, const Network& network);

/// Appends the scores of `count` tokens that follow the inputs from `first` on. Logits: [count, vocabulary].
void compareLogits(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunk, std::size_t first,
                   std::size_t count, std::size_t vocabulary, std::span<const float> reference,
                   std::span<const float> other, std::vector<TokenScore>& into,
                   ReferenceKind kind = ReferenceKind::Logits);

} // namespace qs::eval
