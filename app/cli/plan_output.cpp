// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/plan_output.h"

#include "app/cli/interrupt.h"
#include "app/cli/row_spool.h"
#include "app/cli/terminal.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace qs::cli {
namespace {

constexpr std::size_t kMostPrinted = 40;

} // namespace

Result<void> printPlan(const plan::PlanRecord& record, const std::string& remark) {
    // Rows are made of those units only that are printed: a model may have a million.
    const auto lossOf = [&](std::uint32_t unit) -> std::optional<double> {
        const plan::UnitOption option = record.options->of[unit][record.plan.picked[unit]];
        return option.isMeasured ? std::optional(option.loss) : std::nullopt;
    };
    const std::size_t all = record.options->units.size();
    std::vector<std::uint32_t> units(all);
    std::iota(units.begin(), units.end(), 0u);
    const std::size_t shown = std::min(all, kMostPrinted);
    std::ranges::partial_sort(units, units.begin() + std::ptrdiff_t(shown), [&](std::uint32_t a, std::uint32_t b) {
        const auto lossA = lossOf(a), lossB = lossOf(b);
        return lossA != lossB ? lossA > lossB : a < b;
    });
    units.resize(shown);
    std::vector<plan::MixtureRow> rows;
    for (const auto unit : units) rows.push_back(plan::mixtureRow(record.plan, *record.options, unit));
    std::vector<std::string_view> ids = {"tensor", "spec", "bpw", "loss", "share"};
    if (record.options->latencies) ids.push_back("time_ns");
    std::string text = tableText(withColumns(makeTable({}, plan::mixtureColumns(), rows), ids));
    if (all > kMostPrinted)
        text += fmt::format("... and {} more tensors; --csv and --json have them all.\n", all - kMostPrinted);
    for (const auto& remark : record.options->remarks) text += remark + "\n";
    text += fmt::format("\nBy {}: {}.\n", record.objective->title, plan::planSummary(record));
    if (!remark.empty()) text += remark + "\n";
    if (!record.recipes.empty())
        text += "\n" + tableText(makeTable({}, plan::besideColumns(),
                                           plan::besideRows(record.plan, record.recipes, *record.options)));
    if (!record.losses->additivity.empty())
        text += "\n" + tableText(makeTable({}, eval::additivityColumns(), record.losses->additivity));
    if (record.speed) {
        const plan::SpeedMap& speed = *record.speed;
        text += "\nOne spec everywhere, measured times of the products of one pass:\n" +
                tableText(withColumns(makeTable({}, plan::speedColumns(), speed.points),
                                      {"backend", "m", "spec", "token_ns", "kl", "loss", "bytes"}));
        for (const plan::Crossover& one : speed.crossovers) text += plan::crossoverText(one) + "\n";
        for (const std::string& remark : speed.remarks) text += remark + "\n";
    }
    if (record.proof) {
        text += "\nMeasured on chunks that no loss was measured on:\n" +
                tableText(withColumns(makeTable({}, plan::contenderColumns(), record.proof->contenders),
                                      {"name", "kind", "bytes", "kl_mean", "kl_se_chunk", "top1", "difference"}));
        for (const auto& verdict : record.proof->verdicts) text += verdict + "\n";
    }
    return print(text);
}

Result<void> writePlan(const OutputFiles& outputs, const Model& model, const plan::PlanRecord& record,
                       const std::string& commandLine, const std::vector<std::string>& paths) {
    const bool pages = outputs.wants("html") || outputs.wants("pdf") || outputs.wants("md");
    const std::size_t units = record.options->units.size();
    const bool isLong = !pages && units > kRowsKept;
    auto report = plan::planReport(model, record, commandLine, processJob(), !isLong);
    if (!report) return tl::unexpected(report.error());
    if (!isLong) return outputs.write(std::move(*report), paths);
    RowSpool spool;
    for (std::size_t u = 0; u < units; ++u) {
        const plan::MixtureRow row = plan::mixtureRow(record.plan, *record.options, u);
        std::vector<Value> cells;
        for (const auto& column : plan::mixtureColumns()) cells.push_back(column.value(row));
        if (auto kept = spool.add(cells); !kept) return kept;
    }
    return writeSpool(outputs, std::move(*report), spool, paths);
}

} // namespace qs::cli
