// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/analysis/audit/audit_limits.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

struct AuditOptions {
    std::string path;
    std::vector<std::string> failOn;
    OutputFiles outputs;
    UnitOptions units;
    std::string commandLine;
};

Result<void> printFindings(const Model& model, const AuditResult& result) {
    std::string text;
    if (!result.findings.empty()) {
        std::vector<std::string_view> ids = {"severity", "check", "tensor", "evidence"};
        if (narrowTerminal()) std::erase(ids, "check");
        text = tableText(withColumns(makeTable({}, findingColumns(), result.findings), ids), 200) + "\n";
    }
    if (const std::string remark = quantizedSource(model).sentence(); !remark.empty()) text += remark + "\n";
    return print(text + fmt::format("{} tensors, {} read once in {}: {}.\n", result.tensors, bytesText(result.bytes),
                                    durationText(result.seconds), findingsText(result.findings)));
}

Result<void> runAudit(const AuditOptions& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto units = options.units.open(options.outputs.any());
    if (!units) return tl::unexpected(units.error());
    const auto result = auditModel(*model, processJob(), *units);
    if (!result) return tl::unexpected(result.error());
    if (const auto end = options.units.end()) return *end;
    if (options.outputs.any()) {
        auto report = auditReport(**model, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printFindings(**model, *result); !done) return done;
        auto paths = pathsOf(model->get());
        paths.push_back(options.path);
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    } else if (auto done = printFindings(**model, *result); !done) {
        return done;
    }
    const auto limits = parseLimits(options.failOn, auditLimits());
    if (!limits) return tl::unexpected(limits.error());
    const std::string broken = brokenLimit(*result, *limits);
    if (broken.empty()) return {};
    return fail(fmt::format("{}: {}.", escapeForPeople(options.path, 160), broken));
}

} // namespace

Run declareAudit(CLI::App& app) {
    auto options = std::make_shared<AuditOptions>();
    addPath(app, options->path);
    options->units.declare(app);
    option(app, "--fail-on", options->failOn,
           "Exit with 1 when there is a fault, with `warning` a warning or a fault, with the\n"
           "id of a check a finding of it; more than N with `warning>N` (default: never)")
        .type("LIMIT")
        .oneAtATime()
        .check([](const std::string& text) {
            const auto limit = parseLimit(text, auditLimits());
            return limit ? std::string() : limit.error().message;
        })
        .role(OptionRole::Verdict);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli audit " + options->path;
        for (const auto& limit : options->failOn) options->commandLine += " --fail-on '" + limit + "'";
        return runAudit(*options);
    };
}

} // namespace qs::cli
