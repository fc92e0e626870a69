// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff.h"
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

struct Options {
    std::string a, b;
    OutputFiles outputs;
    std::string commandLine;
};

Result<void> printRows(const DiffResult& result) {
    std::vector<std::string_view> ids = {"tensor", "other",   "status",  "placement", "differing",
                                         "nmse",   "sqnr_db", "max_abs", "reason"};
    if (narrowTerminal()) std::erase(ids, "placement"), std::erase(ids, "differing"), std::erase(ids, "reason");
    return print(tableText(withColumns(makeTable({}, diffColumns(), result.rows), ids)) +
                 fmt::format("\n{} compared in {}: {}.\n", bytesText(result.bytes), durationText(result.seconds),
                             diffText(result)));
}

Result<void> run(const Options& options) {
    const auto a = openServed(options.a);
    if (!a) return tl::unexpected(a.error());
    const auto b = openServed(options.b);
    if (!b) return tl::unexpected(b.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const DiffPlan plan{*a, *b};
    const auto result = diffModels(plan, processJob());
    if (!result) return tl::unexpected(result.error());
    if (options.outputs.any()) {
        const auto report = diffReport(plan, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printRows(*result); !done) return done;
        return options.outputs.write(*report);
    }
    return printRows(*result);
}

} // namespace

Run declareDiff(CLI::App& app) {
    auto options = std::make_shared<Options>();
    option(app, "A", options->a, "A weight file, a sharded index, or a Hugging Face folder")
        .required()
        .type("")
        .reads();
    option(app, "B", options->b, "What it is compared with: names, fusion and order of rows may be others")
        .required()
        .type("")
        .reads();
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli diff " + options->a + " " + options->b;
        return run(*options);
    };
}

} // namespace qs::cli
