// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/subword_model.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/eval/tokenizer/bpe_read.h"
#include "core/eval/tokenizer/unigram.h"
#include "core/eval/tokenizer/word_piece.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr SubwordModelRow kModels[] = {
    {"BPE", readBpe},
    {"Unigram", Unigram::read},
    {"WordLevel", WordPiece::readWords},
    {"WordPiece", WordPiece::read},
};

} // namespace

Result<SubwordModelPtr> readModel(const nlohmann::json& model, bool spellsBytes) {
    std::string type = textAt(model, "type"), known;
    if (type.empty()) type = kModels[0].id; // files of old versions have no type
    for (const SubwordModelRow& row : kModels) {
        if (type == row.id) return row.read(model, spellsBytes);
        known += (known.empty() ? "" : ", ") + std::string(row.id);
    }
    return fail(fmt::format("has a model of type {}, which is not known; known are {}", quotedName(type), known));
}

} // namespace qs::eval
