// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/eval/run/evaluate.h"
#include "core/eval/run/report.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

struct Options {
    std::string path, text, tokens, scored = "second-half";
    std::vector<std::string> specs;
    unsigned context = 512, chunks = 0;
    OutputFiles outputs;
    std::string commandLine;
};

constexpr const char* kSecondHalf = "second-half";
constexpr const char* kAll = "all";

Result<void> printRows(const std::vector<eval::EvaluationRow>& rows, const eval::Evaluation& result) {
    std::vector<std::string_view> ids = {"spec",     "mean_kld", "mean_kld_error_chunks", "kld_99",
                                         "same_top", "ppl",      "ppl_reference"};
    std::string text = tableText(withColumns(makeTable({}, eval::evaluationColumns(), rows), ids));
    for (const auto& row : rows)
        if (!row.reason.empty()) text += fmt::format("{}: {}\n", row.spec, row.reason);
    text += fmt::format("\n{} tokens in {} chunks; f32 activations: the effect of the weights alone.\n", result.tokens,
                        result.chunks);
    return print(text);
}

Result<void> run(const Options& options) {
    if (options.text.empty() == options.tokens.empty())
        return fail("eval needs one text: use --text FILE, or --tokens FILE for one that is token ids already.");
    eval::EvaluationPlan plan;
    plan.context = options.context, plan.chunks = options.chunks;
    plan.scored = options.scored == kAll ? eval::Scored::All : eval::Scored::SecondHalf;
    for (const auto& text : options.specs) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        plan.changes.push_back(eval::quantizedAs(std::move(*spec)));
    }
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    auto text = options.tokens.empty() ? eval::textFromFile(**model, options.text, processJob())
                                       : eval::textFromTokens(options.tokens, processJob());
    if (!text) return tl::unexpected(text.error());
    plan.text = std::move(*text);
    const auto result = eval::evaluate(*model, plan, processJob());
    if (!result) return tl::unexpected(result.error());
    const auto rows = eval::evaluationRows(plan, *result);
    if (!options.outputs.standardOutput())
        if (auto done = printRows(rows, *result); !done) return done;
    if (options.outputs.any()) {
        auto report = eval::evaluationReport(**model, plan, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        auto paths = pathsOf(model->get());
        paths.push_back(options.path), paths.push_back(plan.text.path);
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    }
    for (const auto& reason : result->reasons)
        if (reason.empty()) return {};
    return fail(
        fmt::format("No spec could be evaluated; the first, {}: {}", options.specs.front(), result->reasons.front()),
        options.path);
}

} // namespace

Run declareEval(CLI::App& app) {
    auto options = std::make_shared<Options>();
    addPath(app, options->path);
    option(app, "--spec", options->specs,
           "What the matrices of all layers are quantized as; may be given several times")
        .type("SPEC")
        .required()
        .oneAtATime();
    option(
        app, "--text", options->text,
        "A text in UTF-8, which the model's tokenizer.json turns into tokens; one newline at\nits end does not count")
        .type("FILE")
        .reads();
    option(app, "--tokens", options->tokens,
           "The text as token ids: an array of integers (.npy), or whole numbers in a text file")
        .type("FILE")
        .reads();
    option(app, "--ctx", options->context, "Tokens of a chunk; positions start at 0 in each")
        .type("N")
        .showDefault()
        .range(2u, 1u << 20);
    option(app, "--chunks", options->chunks, "Chunks to evaluate at most (default: all)").type("N");
    option(app, "--scored", options->scored,
           "Which predictions count: those of the second half of a chunk, as llama.cpp\ndoes, or all")
        .type("RANGE")
        .showDefault()
        .oneOf({kSecondHalf, kAll});
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli eval " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        line += options->tokens.empty() ? " --text " + options->text : " --tokens " + options->tokens;
        line += fmt::format(" --ctx {}", options->context);
        if (options->chunks > 0) line += fmt::format(" --chunks {}", options->chunks);
        if (options->scored != kSecondHalf) line += " --scored " + options->scored;
        options->commandLine = line;
        return run(*options);
    };
}

} // namespace qs::cli
