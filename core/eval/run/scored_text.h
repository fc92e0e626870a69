// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tokens of a text are inputs, and which of their predictions count.

#include "core/base/result.h"
#include "core/eval/network/network.h"
#include "core/eval/scores/token_score.h"

#include <string>
#include <vector>

namespace qs::eval {

/// Which predictions count.
enum class Scored {
    SecondHalf, ///< as llama.cpp: of a chunk of C tokens, inputs C/2 to C - 2
    All         ///< every input whose next token is in the text; the last of a chunk predicts the first of the next
};

/// The first position of a chunk whose prediction may count.
constexpr std::size_t firstScored(Scored scored, std::size_t context) {
    return scored == Scored::SecondHalf ? context / 2 : 0;
}

/// Inputs whose next token is scored, of one chunk.
struct ScoredRange {
    std::size_t chunk = 0, begin = 0, end = 0; ///< positions in the whole text
};

struct ScoredText {
    std::size_t inputs = 0; ///< the first tokens of the text, which go forward
    std::size_t chunks = 0;
    std::vector<ScoredRange> ranges;
};

/// `chunks`: at most; 0: all. SecondHalf takes whole chunks only. Errors: a token that is not in the vocabulary, a
/// context that the network was not made for, a text too short.
Result<ScoredText> scoredText(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunks,
                              Scored scored, const Network& network);
/// The errors that concern tokens and context alone.
Result<void> checkTokens(std::span<const std::int32_t> tokens, std::size_t context, const Network& network);

/// Appends the scores of `count` tokens that follow the inputs from `first` on. Logits: [count, vocabulary].
void compareLogits(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunk, std::size_t first,
                   std::size_t count, std::size_t vocabulary, std::span<const float> reference,
                   std::span<const float> other, std::vector<TokenScore>& into,
                   ReferenceKind kind = ReferenceKind::Logits);

} // namespace qs::eval
