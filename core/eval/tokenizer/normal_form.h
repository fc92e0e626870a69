// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The normal forms of Unicode, by QString, of version 9 as in the tokenizers package.

#include "core/eval/tokenizer/tracked_text.h"

namespace qs::eval {

enum class NormalForm : std::uint8_t { C, D, KC, KD };

/// Runs of characters that cannot change are kept without a copy through UTF-16.
void toNormalForm(NormalForm form, std::string_view text, Rewriter& into);

} // namespace qs::eval
