// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/text_options.h"

#include "app/cli/interrupt.h"

#include <fmt/format.h>

namespace qs::cli {

void TextOptions::declare(CLI::App& app) {
    option(app, "--text", text,
           "A text in UTF-8, which the model's tokenizer turns into tokens; one newline at its\nend does not count")
        .type("FILE")
        .reads();
    option(app, "--tokens", tokens,
           "The text as token ids: an array of integers (.npy), or whole numbers in a text file")
        .type("FILE")
        .reads();
    option(app, "--ctx", context, "Tokens of a chunk; positions start at 0 in each")
        .type("N")
        .showDefault()
        .range(2u, 1u << 20);
    option(app, "--chunks", chunks,
           chunks == 0 ? "Chunks to take at most (default: all)"
                       : fmt::format("Chunks to take at most; 0: all (default: {})", chunks))
        .type("N");
}

Result<void> TextOptions::check(const char* command) const {
    if (text.empty() == tokens.empty())
        return fail(fmt::format(
            "{} needs one text: use --text FILE, or --tokens FILE for one that is token ids already.", command));
    return {};
}

Result<eval::EvaluationText> TextOptions::read(const Model& model, const Job& job) const {
    const EndsAtOnce reading; // tokenizers work on the whole text, step after step
    return tokens.empty() ? eval::textFromFile(model, text, job) : eval::textFromTokens(tokens, job);
}

std::string TextOptions::commandLine() const {
    std::string line = tokens.empty() ? " --text " + text : " --tokens " + tokens;
    line += fmt::format(" --ctx {}", context);
    if (chunks > 0) line += fmt::format(" --chunks {}", chunks);
    return line;
}

} // namespace qs::cli
