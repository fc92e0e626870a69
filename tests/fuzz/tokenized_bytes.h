// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What must hold of any tokenizer that was read from any bytes.

#include "core/eval/tokenizer/tokenizer.h"

#include <cstdlib>

inline void checkTokenizer(const qs::Result<std::shared_ptr<const qs::eval::Tokenizer>>& made) {
    if (!made) {
        if (made.error().message.empty()) std::abort();
        return;
    }
    const std::string text = "The quick z\u00fcrich e\u0301 \u65e5\u672c \U0001F642 <s> 12ab  \n\n don't";
    const auto placed = (*made)->encodePlaced(text, qs::Job());
    const auto ids = (*made)->encode(text, qs::Job());
    if (placed.has_value() != ids.has_value()) std::abort();
    if (!ids) return;
    if (placed->size() != ids->size()) std::abort();
    for (std::size_t i = 0; i < ids->size(); ++i) {
        const auto& token = (*placed)[i];
        if (token.id != (*ids)[i] || token.id < 0 || token.id >= (*made)->size()) std::abort();
        if (token.begin > token.end || token.end > text.size()) std::abort();
        (*made)->bytesOf(token.id);
        (*made)->pieceOf(token.id);
    }
}
