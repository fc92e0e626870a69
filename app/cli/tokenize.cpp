// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/eval/tokenizer/tokenized_file.h"

#include <fmt/format.h>
#include <optional>

namespace qs::cli {
namespace {

constexpr std::size_t kShownTokens = 40;

struct TokenizeOptions {
    std::string path, text, ids;
    OutputFiles outputs;
    std::string commandLine;
};

Result<void> printTokens(const eval::TokenizedFile& file) {
    std::string text = tableText(makeTable({}, eval::tokenColumns(), eval::tokenRows(file, kShownTokens)));
    if (file.tokens.size() > kShownTokens)
        text += fmt::format("... the first {} of {}; --csv and --json write all.\n", kShownTokens, file.tokens.size());
    return print(text + "\n" + eval::summaryOf(file) + "\n");
}

Result<void> runTokenize(const TokenizeOptions& options) {
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    std::optional<EndsAtOnce> reading(std::in_place); // tokenizers work on the whole text, step after step
    const auto file = eval::tokenizeFile(**model, options.text, processJob());
    reading.reset();
    if (!file) return tl::unexpected(file.error());
    if (!options.ids.empty())
        if (auto done = eval::writeTokens(options.ids, file->tokens, replaceOf(options.ids)); !done) return done;
    if (!options.outputs.standardOutput())
        if (auto done = printTokens(*file); !done) return done;
    if (!options.outputs.any()) return {};
    auto report = eval::tokensReport(**model, *file, options.commandLine, processJob());
    if (!report) return tl::unexpected(report.error());
    auto paths = pathsOf(model->get());
    paths.push_back(options.path), paths.push_back(file->path), paths.push_back(file->tokenizer);
    return options.outputs.write(std::move(*report), paths);
}

} // namespace

Run declareTokenize(CLI::App& app) {
    auto options = std::make_shared<TokenizeOptions>();
    addPath(app, options->path);
    option(app, "--text", options->text, "A text in UTF-8; one newline at its end does not count")
        .type("FILE")
        .required()
        .reads();
    option(app, "-o,--output", options->ids, "Write the ids: an array of i32 (.npy), else one number a line")
        .type("FILE")
        .writes({".npy", ".txt"}, {".npy", ".txt"});
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli tokenize " + options->path + " --text " + options->text;
        return runTokenize(*options);
    };
}

} // namespace qs::cli
