// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How the byte-pair vocabulary of a GGUF file cuts a text, by the name under tokenizer.ggml.pre. The names are those of
// llama.cpp; the regular expressions are those of the tokenizer.json that a file was made from, which llama.cpp
// rewrites for its engine.

#include "core/base/result.h"

#include <span>
#include <string>
#include <vector>

namespace qs::eval {

struct GgufCuts {
    std::vector<const char*> names;
    std::vector<const char*> cuts; ///< ids of splitters or regular expressions; they are applied in this order
    bool ignoresMerges = false, addsBegin = false;
};
std::span<const GgufCuts> ggufCuts();
/// Error: the name is not known. Models that this program cannot run may have other names.
Result<const GgufCuts*> ggufCutsOf(const std::string& name);

} // namespace qs::eval
