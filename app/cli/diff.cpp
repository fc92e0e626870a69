// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff/diff.h"
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/row_spool.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace qs::cli {
namespace {

struct DiffOptions {
    std::string a, b;
    std::vector<std::string> filters;
    bool changed = false;
    OutputFiles outputs;
    std::string commandLine;
};

std::vector<std::string_view> shownColumns() {
    std::vector<std::string_view> ids = {"tensor", "other",   "status",  "placement", "differing",
                                         "nmse",   "sqnr_db", "max_abs", "reason"};
    if (narrowTerminal()) std::erase(ids, "placement"), std::erase(ids, "differing"), std::erase(ids, "reason");
    return ids;
}

std::string belowRows(const DiffResult& result) {
    return fmt::format("\n{} compared in {}: {}.\n", bytesText(result.bytes), durationText(result.seconds),
                       diffText(result));
}

Result<void> printRows(const DiffResult& result) {
    return print(tableText(withColumns(makeTable({}, diffColumns(), result.rows), shownColumns())) + belowRows(result));
}

/// Selects the rows shown in a report of very many rows: changed rows first, then equal ones, each in model order.
class ShownRows {
public:
    void add(const DiffRow& row) {
        auto& rows = isChanged(row) ? changed_ : equal_;
        if (rows.size() < kRowsKept) rows.push_back(row);
    }
    std::vector<DiffRow> take() {
        equal_.resize(std::min(equal_.size(), kRowsKept - changed_.size()));
        std::move(equal_.begin(), equal_.end(), std::back_inserter(changed_));
        return std::move(changed_);
    }

private:
    std::vector<DiffRow> changed_, equal_;
};

/// With many tensors the rows are kept in a temporary file.
Result<void> runSpooled(const DiffOptions& options, const DiffPlan& plan, const std::vector<std::string>& paths) {
    RowSpool spool;
    ShownRows shown;
    std::size_t leftOut = 0;
    const auto tensors = plan.a->tensors.size();
    auto result = diffModels(plan, processJob(), [&](const DiffRow& row) -> Result<void> {
        if (options.changed && !isChanged(row)) return ++leftOut, Result<void>();
        shown.add(row);
        std::vector<Value> cells;
        for (const auto& column : diffColumns()) cells.push_back(column.value(row));
        return spool.add(row.a ? std::uint64_t(row.a - plan.a->tensors.data()) : tensors, cells);
    });
    if (!result) return tl::unexpected(result.error());
    result->handedOut[std::size_t(DiffStatus::Equal)] -= leftOut, result->equalLeftOut += leftOut;
    spool.sort();
    if (!options.outputs.standardOutput()) {
        const auto& columns = diffColumns();
        if (auto done = printSpool({columns.begin(), columns.end()}, shownColumns(), spool); !done) return done;
        if (auto done = print(belowRows(*result)); !done) return done;
    }
    if (!options.outputs.any()) return {};
    result->rows = shown.take();
    auto report = diffReport(plan, *result, options.commandLine, processJob());
    if (!report) return tl::unexpected(report.error());
    report->data.rows.clear();
    return writeSpool(options.outputs, std::move(*report), spool, paths);
}

Result<void> runDiff(const DiffOptions& options) {
    const auto a = openServed(options.a);
    if (!a) return tl::unexpected(a.error());
    const auto b = openServed(options.b);
    if (!b) return tl::unexpected(b.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const DiffPlan plan = diffPlan(*a, *b, joined(options.filters));
    auto paths = pathsOf(a->get());
    for (auto& path : pathsOf(b->get())) paths.push_back(std::move(path));
    paths.insert(paths.end(), {options.a, options.b});
    if (plan.a->tensors.size() + plan.b->tensors.size() > kRowsKept) return runSpooled(options, plan, paths);
    auto result = diffModels(plan, processJob());
    if (!result) return tl::unexpected(result.error());
    if (options.changed) keepChanged(*result);
    if (options.outputs.any()) {
        auto report = diffReport(plan, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printRows(*result); !done) return done;
        return options.outputs.write(std::move(*report), paths);
    }
    return printRows(*result);
}

} // namespace

Run declareDiff(CLI::App& app) {
    auto options = std::make_shared<DiffOptions>();
    addAs(app);
    option(app, "A", options->a, "A weight file, a sharded index, or a Hugging Face folder")
        .required()
        .type("")
        .reads();
    option(app, "B", options->b, "What it is compared with: names, fusion and order of rows may be others")
        .required()
        .type("")
        .reads();
    option(app, "--tensor", options->filters, "Only tensors whose name matches; may be given several times")
        .type("REGEX")
        .oneAtATime();
    flag(app, "--changed", options->changed, "Leave out tensors that are equal; their number is still said");
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        options->commandLine = "quantscope-cli diff " + options->a + " " + options->b;
        for (const auto& filter : options->filters) options->commandLine += " --tensor '" + filter + "'";
        if (options->changed) options->commandLine += " --changed";
        return runDiff(*options);
    };
}

} // namespace qs::cli
