// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/capture/capture.h"
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/text_options.h"
#include "app/cli/units.h"
#include "core/base/lists.h"
#include "core/base/text.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

struct CaptureOptions {
    std::string path, output, what;
    TextOptions text;
    UnitOptions units;
    unsigned rows = 1024;
    Option rowsOption;
};

Result<void> runCapture(const CaptureOptions& options) {
    if (auto fine = options.text.check("capture"); !fine) return fine;
    const auto kind = eval::captureKindOf(options.output, options.what);
    if (!kind) return tl::unexpected(kind.error());
    if (options.rowsOption.given() && !(*kind)->limitsRows)
        return fail(
            fmt::format("--rows limits inputs that are written as they are; \"{}\" adds up all of them.", (*kind)->id));
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    const auto units = options.units.open(false);
    if (!units) return tl::unexpected(units.error());
    auto text = options.text.read(**model, processJob());
    if (!text) return tl::unexpected(text.error());
    eval::CapturePlan plan;
    plan.text = std::move(*text);
    plan.context = options.text.context, plan.chunks = options.text.chunks, plan.rows = options.rows,
    plan.units = *units, plan.replace = replaceOf(options.output);
    const auto done = (*kind)->write(*model, plan, options.output, processJob());
    if (!done) return tl::unexpected(done.error());
    if (const auto end = options.units.end()) return *end;
    return print(fmt::format("Wrote {} ({}): {} matrices, {} tokens in {} chunks of {}.\n",
                             escapeForPeople(options.output, 300), bytesText(done->bytes), done->matrices, done->tokens,
                             done->chunks, plan.context));
}

} // namespace

Run declareCapture(CLI::App& app) {
    auto options = std::make_shared<CaptureOptions>();
    addPath(app, options->path);
    options->text.declare(app);
    std::vector<std::string> endings;
    for (const auto& kind : eval::captureKinds()) addOnce(endings, std::string(kind.extension));
    option(app, "-o,--output", options->output,
           "The file to write: .safetensors for inputs of layers, .gguf or .dat for an\nimportance matrix of llama.cpp")
        .type("OUT")
        .required()
        .writes(endings, {".dat"});
    option(app, "--what", options->what,
           "rows: inputs; gram: X^T X of all inputs, for gptq; imatrix, imatrix-dat: sums of\n"
           "squares (default: the first that OUT's ending allows)")
        .type("WHAT")
        .oneOf(idsOf(eval::captureKinds()));
    options->rowsOption = option(app, "--rows", options->rows,
                                 "Inputs of a matrix at most, spread evenly over the text; 0: all (default: 1024)")
                              .type("N");
    options->units.declare(app);
    return [options] { return runCapture(*options); };
}

} // namespace qs::cli
