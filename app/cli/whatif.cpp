// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/lab.h"
#include "app/cli/selection.h"
#include "core/base/text.h"
#include "core/value/what_if.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

struct WhatifOptions {
    std::string path, tensor, spec;
    std::vector<std::string> arguments; ///< one for each operation
    std::vector<Option> given;
    OutputFiles outputs;
    std::string commandLine;
};

Result<void> runWhatif(const WhatifOptions& options) {
    const auto spec = parseSpec(options.spec);
    if (!spec) return tl::unexpected(spec.error());
    auto tensor = labTensor(options.path, options.tensor, false,
                            [](const TensorInfo& info) { return value::whatIfNeed(info.elements); });
    if (!tensor) return tl::unexpected(tensor.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const Job& job = processJob();
    const auto subject = value::whatIfSubject(std::move(tensor->values), forTensor(*spec, *tensor->info), job);
    if (!subject) return tl::unexpected(subject.error());
    const auto operations = value::whatIfOperations();
    bool all = true;
    for (const auto& option : options.given) all = all && !option.given();
    std::vector<value::WhatIfRow> rows;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        if (!all && !options.given[i].given()) continue;
        const auto argument = all ? operations[i].initial(subject->w.shape) : options.arguments[i];
        auto some = operations[i].run(*subject, argument, job);
        if (!some) return tl::unexpected(some.error());
        rows.insert(rows.end(), some->begin(), some->end());
    }
    LabReport report;
    report.title = "What tensor operations cost";
    report.subtitle = escapeForPeople(tensor->info->name) + " under " + options.spec;
    report.text = "Caused: against the same operation on the decoded values. After: against the operation on the "
                  "original. Direct: the original moved first and quantized once.";
    report.specs = options.spec + " = " + canonicalText(*spec);
    report.commandLine = options.commandLine, report.paths = {options.path};
    if (auto done = putLab(options.outputs, tensor->opened.get(), makeTable({}, value::whatIfColumns(), rows),
                           {"operation", "detail", "shape", "caused_nmse", "sqnr_before_db", "sqnr_db",
                            "sqnr_direct_db", "devices", "bytes_per_device", "bytes_total", "note"},
                           std::move(report),
                           "\nBefore, after, direct: SQNR. An operation that moves values quantizes again.\n");
        !done)
        return done;
    for (const auto& row : rows)
        if (row.reason.empty()) return {};
    return fail(fmt::format("{}: {}", rows.front().operation, rows.front().reason), options.path);
}

} // namespace

Run declareWhatIf(CLI::App& app) {
    auto options = std::make_shared<WhatifOptions>();
    addPath(app, options->path);
    addLabTensor(app, options->tensor);
    option(app, "--spec", options->spec, "The spec that the tensor has").required().type("SPEC");
    const auto operations = value::whatIfOperations();
    options->arguments.resize(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i)
        options->given.push_back(option(app, std::string("--") + operations[i].id, options->arguments[i],
                                        std::string(operations[i].title) + ": " + operations[i].argument)
                                     .type("TEXT"));
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine =
            "quantscope-cli whatif " + options->path + " --tensor " + options->tensor + " --spec " + options->spec;
        for (std::size_t i = 0; i < options->given.size(); ++i)
            if (options->given[i].given())
                options->commandLine +=
                    fmt::format(" --{} '{}'", value::whatIfOperations()[i].id, options->arguments[i]);
        return runWhatif(*options);
    };
}

} // namespace qs::cli
