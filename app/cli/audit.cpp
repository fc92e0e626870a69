// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/audit.h"
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
    std::string path, failOn;
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

/// The severities that --fail-on accepts, worst first. "warning" includes faults.
constexpr Severity kFailures[] = {Severity::Fault, Severity::Warning};

Result<void> verdict(const Options& options, const AuditResult& result) {
    for (const Severity least : kFailures) {
        if (options.failOn != severityId(least)) continue;
        std::vector<Finding> failures;
        for (const Finding& one : result.findings)
            if (one.check->severity >= least) failures.push_back(one);
        if (!failures.empty())
            return fail(fmt::format("{}: the audit found {} (--fail-on {}).", escapeForPeople(options.path, 160),
                                    findingsText(failures), options.failOn));
    }
    return {};
}

Result<void> run(const Options& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto result = auditModel(*model, processJob());
    if (!result) return tl::unexpected(result.error());
    if (options.outputs.any()) {
        auto report = auditReport(**model, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printFindings(*result); !done) return done;
        auto paths = pathsOf(model->get());
        paths.push_back(options.path);
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    } else if (auto done = printFindings(*result); !done) {
        return done;
    }
    return verdict(options, *result);
}

} // namespace

Run declareAudit(CLI::App& app) {
    auto options = std::make_shared<Options>();
    addPath(app, options->path);
    std::vector<std::string> severities;
    for (const Severity one : kFailures) severities.emplace_back(severityId(one));
    option(app, "--fail-on", options->failOn,
           "Exit with 1 when there is a fault, or with `warning` when there is a warning or\na fault (default: never)")
        .type("SEVERITY")
        .oneOf(severities);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli audit " + options->path;
        if (!options->failOn.empty()) options->commandLine += " --fail-on " + options->failOn;
        return run(*options);
    };
}

} // namespace qs::cli
