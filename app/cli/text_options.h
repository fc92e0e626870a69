// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Options of commands that put a text through a language model: --text, --tokens, --ctx, --chunks.

#include "app/cli/option.h"
#include "core/eval/run/evaluation_text.h"

namespace qs::cli {

struct TextOptions {
    std::string text, tokens;
    unsigned context = 512, chunks = 0;

    /// `this` must outlive parsing.
    void declare(CLI::App& app);
    /// Exactly one of --text and --tokens. `command`: for the message.
    Result<void> check(const char* command) const;
    Result<eval::EvaluationText> read(const Model& model, const Job& job) const;
    std::string commandLine() const; ///< as options: " --text F --ctx 512"
};

} // namespace qs::cli
