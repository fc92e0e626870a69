// SPDX-License-Identifier: GPL-3.0-or-later
// The keys of any GGUF file must give a tokenizer or one sentence.
#include "tokenized_bytes.h"

#include "core/eval/tokenizer/sources.h"

#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    checkTokenizer(qs::eval::parseGgufTokenizer(std::as_bytes(std::span(data, size)), "fuzz"));
    return 0;
}
