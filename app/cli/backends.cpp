// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"
#include "core/bench/backend/backend_list.h"
#include "core/bench/conformance/conformance.h"
#include "core/bench/run/host.h"
#include "core/report/writers.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace qs::cli {
namespace {

struct BackendsOptions {
    std::vector<std::string> plugins;
    bool check = false;
    double seconds = ConformancePlan{}.seconds;
    OutputFiles outputs;
};

/// The table for people. Columns that are empty in all rows are left out.
Table shown(const Table& table) {
    std::vector<std::string_view> ids;
    for (const char* id : {"backend", "device", "status", "version", "device_name", "reason", "hint"}) {
        const auto column = std::size_t(std::ranges::find_if(table.columns, [&](const auto& c) { return c.id == id; }) -
                                        table.columns.begin());
        if (std::ranges::any_of(table.rows,
                                [&](const auto& row) { return !std::holds_alternative<std::monostate>(row[column]); }))
            ids.push_back(id);
    }
    return withColumns(table, ids);
}

/// Checks the plugins given by the user; without any, all backends that were built.
Result<void> check(const BackendsOptions& options, const std::vector<BackendSource>& sources) {
    std::vector<ConformanceCheck> checks;
    ConformancePlan plan;
    plan.seconds = options.seconds;
    for (const auto& source : sources) {
        if (!source.named && (!source.built || !options.plugins.empty())) continue;
        auto done = checkConformance(source, plan, processJob(), [&](const auto& one) { checks.push_back(one); });
        if (!done) return done;
    }
    const Table table = makeTable({}, conformanceColumns(), checks);
    if (!options.outputs.standardOutput())
        if (auto done = print(tableText(table)); !done) return done;
    if (options.outputs.any())
        if (auto done = options.outputs.writeJson("{\"checks\": " + jsonRows(table) + "}\n"); !done) return done;
    const auto bad = [](const auto& one) { return one.result == CheckResult::Failed; };
    const auto failures = std::ranges::count_if(checks, bad);
    if (failures == 0) return {};
    const auto first = std::ranges::find_if(checks, bad);
    return fail(fmt::format("{} of {} checks failed; the first, {} of {}: {}", failures, checks.size(), first->check,
                            escapeForPeople(first->backend), first->detail));
}

Result<void> runBackends(const BackendsOptions& options) {
    if (auto fine = options.outputs.check(); !fine) return fine;
    if (auto fine = pluginsExist(options.plugins); !fine) return fine;
    const auto sources = backendSources(options.plugins);
    if (options.check) return check(options, sources);
    std::vector<BackendRow> rows;
    auto listed = listBackends(
        sources, processJob(), [&](const BackendRow& row) { rows.push_back(row); }, Deadlines{},
        [](const std::string& ids) {
            note(fmt::format("waiting for {}, which may take minutes to start and is ended then; Ctrl-C stops.",
                             escapeForPeople(ids, 200)));
        });
    if (!listed) return listed;
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.source < b.source; });
    const Table table = makeTable({}, backendColumns(), rows);
    if (!options.outputs.standardOutput())
        if (auto done = print(tableText(shown(table))); !done) return done;
    if (!options.outputs.any()) return {};
    Report report;
    report.data = table, report.provenance = machineProvenance();
    for (auto& line : hostProvenance()) report.provenance.push_back(std::move(line));
    const auto text = renderJson(report);
    return text ? options.outputs.writeJson(*text) : tl::unexpected(text.error());
}

} // namespace

Run declareBackends(CLI::App& app) {
    auto options = std::make_shared<BackendsOptions>();
    option(app, "--plugin", options->plugins,
           "A backend library of your own, or a PJRT plugin for pjrt; may be given\nseveral times")
        .type("SO")
        .reads()
        .list();
    flag(app, "--check", options->check,
         "Ask each what the interface demands: a line a check, exit code 1 when\n"
         "one fails; with --plugin of that library alone");
    option(app, "--seconds", options->seconds,
           "With --check: time for products at tail shapes (default: 60); what does\n"
           "not fit is said to be skipped")
        .type("S")
        .check([](const std::string& text) {
            const double seconds = std::strtod(text.c_str(), nullptr);
            return seconds > 0 && seconds <= 36000 ? std::string() : "it must lie between 0 and 36000";
        });
    options->outputs.declare(app, {"json"});
    return [options] { return runBackends(*options); };
}

} // namespace qs::cli
