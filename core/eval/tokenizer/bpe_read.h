// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Models of byte-pair encoding out of what files hold.

#include "core/eval/tokenizer/bpe.h"

namespace qs::eval {

/// A row of tokenizer.json.
Result<SubwordModelPtr> readBpe(const nlohmann::json& model, bool spellsBytes);
/// `merges`: pairs of tokens in the order of their ranks. Errors: a merge of tokens that are not there.
Result<SubwordModelPtr> bpeWithMerges(Vocabulary vocabulary, Bpe::Settings settings,
                                      const std::vector<std::pair<std::string, std::string>>& merges);
/// SentencePiece's order: any two neighbours whose text is a token, the highest score first. `scores`: one a token; NaN:
/// no result of a merge.
Result<SubwordModelPtr> bpeWithScores(Vocabulary vocabulary, Bpe::Settings settings, const std::vector<float>& scores);

} // namespace qs::eval
