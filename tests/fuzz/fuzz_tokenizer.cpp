// SPDX-License-Identifier: GPL-3.0-or-later
// Any tokenizer.json and any GGUF vocabulary must give a tokenizer or one sentence; ids must lie in its vocabulary and
// places in the text.
#include "tokenized_bytes.h"

#include "core/eval/tokenizer/sources.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const bool gguf = text.starts_with("GGUF");
    const auto made = gguf ? qs::eval::parseGgufTokenizer(std::as_bytes(std::span(data, size)), "fuzz")
                           : qs::eval::parseTokenizer(text, "fuzz");
    checkTokenizer(made);
    return 0;
}
