// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes models of byte-pair encoding from the contents of files.

#include "core/eval/tokenizer/bpe.h"

namespace qs::eval {

/// Reads the model of a tokenizer.json.
Result<SubwordModelPtr> readBpe(const nlohmann::json& model, bool spellsBytes);
/// `merges` are pairs of tokens in the order of their ranks. Error: a merge names a token that does not exist.
Result<SubwordModelPtr> bpeWithMerges(Vocabulary vocabulary, Bpe::Settings settings,
                                      const std::vector<std::pair<std::string, std::string>>& merges);
/// Merges in SentencePiece's order: any two neighbours whose joined text is a token, the highest score first. `scores`
/// has one score for each token. NaN means that no merge makes this token.
Result<SubwordModelPtr> bpeWithScores(Vocabulary vocabulary, Bpe::Settings settings, const std::vector<float>& scores);

} // namespace qs::eval
