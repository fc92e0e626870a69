// SPDX-License-Identifier: GPL-3.0-or-later
// Any tokenizer.model must give a tokenizer or one sentence.
#include "tokenized_bytes.h"

#include "core/eval/tokenizer/sources.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    checkTokenizer(qs::eval::parseSentencePiece(bytes, "fuzz", true, true));
    return 0;
}
