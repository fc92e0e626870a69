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
    std::vector<std::string> filters;
    bool changed = false;
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
    const DiffPlan plan{*a, *b, joined(options.filters)};
    auto result = diffModels(plan, processJob());
    if (!result) return tl::unexpected(result.error());
    if (options.changed) keepChanged(*result);
    if (options.outputs.any()) {
        auto report = diffReport(plan, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printRows(*result); !done) return done;
        auto paths = pathsOf(a->get());
        for (auto& path : pathsOf(b->get())) paths.push_back(std::move(path));
        paths.insert(paths.end(), {options.a, options.b});
        return options.outputs.write(std::move(*report), paths);
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
    addTensorFilters(app, options->filters);
    flag(app, "--changed", options->changed, "Leave out tensors that are equal; their number is still said");
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli diff " + options->a + " " + options->b;
        for (const auto& filter : options->filters) options->commandLine += " --tensor '" + filter + "'";
        if (options->changed) options->commandLine += " --changed";
        return run(*options);
    };
}

} // namespace qs::cli
