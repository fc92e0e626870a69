// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Normalizers change a text, pre-tokenizers cut it into pieces that the model then takes one by one. Both are chains of
// steps out of tokenizer.json.

#include "core/base/result.h"

#include <QString>

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace qs::eval {

using Normalize = std::function<QString(const QString&)>;
/// Appends the pieces of one piece. `first`: it begins where the text, or the text after an added token, begins.
using Cut = std::function<void(const QString& piece, bool first, std::vector<QString>& into)>;

struct PreTokenizer {
    std::vector<Cut> steps;
    bool spellsBytes = false; ///< pieces are spelled by byteCharacters() before the model takes them
};

/// `step`: the value under "normalizer"; null: the text stays. Errors are the end of a sentence: "has the normalizer ...".
Result<Normalize> readNormalizer(const nlohmann::json& step);
/// The same of "pre_tokenizer".
Result<PreTokenizer> readPreTokenizer(const nlohmann::json& step);

} // namespace qs::eval
