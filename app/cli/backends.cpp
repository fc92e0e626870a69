// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/terminal.h"
#include "core/bench/backend_list.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace qs::cli {
namespace {

struct Options {
    std::vector<std::string> plugins;
    OutputFiles outputs;
};

/// What people read: a column that is empty everywhere is left out, and nothing is "not measured" here.
Table shown(const Table& table) {
    std::vector<std::string_view> ids;
    for (const char* id : {"backend", "device", "status", "version", "device_name", "reason", "hint"}) {
        const auto column = std::size_t(
            std::find_if(table.columns.begin(), table.columns.end(), [&](const auto& c) { return c.id == id; }) -
            table.columns.begin());
        if (std::any_of(table.rows.begin(), table.rows.end(),
                        [&](const auto& row) { return !std::holds_alternative<std::monostate>(row[column]); }))
            ids.push_back(id);
    }
    Table view = withColumns(table, ids);
    for (auto& row : view.rows)
        for (auto& cell : row)
            if (std::holds_alternative<std::monostate>(cell)) cell = std::string("-");
    return view;
}

Result<void> run(const Options& options) {
    if (auto fine = options.outputs.check(nullptr); !fine) return fine;
    const auto sources = backendSources(options.plugins);
    std::vector<BackendRow> rows;
    const auto listed = listBackends(sources, processJob(), [&](const BackendRow& row) { rows.push_back(row); });
    if (!listed) return listed;
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.source < b.source; });
    const Table table = makeTable({}, backendColumns(), rows);
    if (!options.outputs.standardOutput())
        if (auto done = print(tableText(shown(table))); !done) return done;
    if (options.outputs.any()) return options.outputs.writeJson("{\"rows\": " + jsonRows(table) + "}\n");
    return {};
}

} // namespace

Run declareBackends(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("--plugin", options->plugins, "A backend library of your own; may be given several times")
        ->type_name("SO")
        ->expected(1)
        ->take_all();
    options->outputs.declare(app, {"json"});
    return [options] { return run(*options); };
}

} // namespace qs::cli
