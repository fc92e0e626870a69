// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit.h"
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
    std::string path;
    OutputFiles outputs;
    std::string commandLine;
};

Result<void> printFindings(const AuditResult& result) {
    std::string text;
    if (!result.findings.empty()) {
        std::vector<std::string_view> ids = {"severity", "check", "tensor", "evidence"};
        if (narrowTerminal()) std::erase(ids, "check");
        text = tableText(withColumns(makeTable({}, findingColumns(), result.findings), ids), 200) + "\n";
    }
    return print(text + fmt::format("{} tensors, {} read once in {}: {}.\n", result.tensors, bytesText(result.bytes),
                                    durationText(result.seconds), findingsText(result.findings)));
}

Result<void> run(const Options& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto result = auditModel(*model, processJob());
    if (!result) return tl::unexpected(result.error());
    if (options.outputs.any()) {
        const auto report = auditReport(**model, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printFindings(*result); !done) return done;
        return options.outputs.write(*report);
    }
    return printFindings(*result);
}

} // namespace

Run declareAudit(CLI::App& app) {
    auto options = std::make_shared<Options>();
    addPath(app, options->path);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli audit " + options->path;
        return run(*options);
    };
}

} // namespace qs::cli
