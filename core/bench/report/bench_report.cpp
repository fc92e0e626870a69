// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/report/bench_report.h"

#include "core/base/text.h"
#include "core/bench/report/bench_table.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

Section sectionOf(const char* title, std::string text, std::vector<Table> tables, std::vector<Plot> plots = {},
                  bool brief = false) {
    return {title, std::move(text), {}, {}, std::move(tables), std::move(plots), brief};
}

std::size_t countOf(const BenchmarkRun& run, RowState state) {
    return std::size_t(
        std::ranges::count_if(run.rows, [state](const BenchmarkRow& row) { return row.verdict.status == state; }));
}

Section summary(const BenchmarkRun& run) {
    std::string text = fmt::format("{} rows in {}: {} measured", run.rows.size(), durationText(run.seconds),
                                   countOf(run, RowState::Ok));
    for (const auto state :
         {RowState::Wrong, RowState::Invalid, RowState::Declined, RowState::Crashed, RowState::Hung, RowState::Failed,
          RowState::Unavailable, RowState::NeedsConfig, RowState::CompileOnly, RowState::NotBuilt})
        if (const auto count = countOf(run, state)) {
            std::string words = rowStateText(state); // as in files
            std::replace(words.begin(), words.end(), '_', ' ');
            text += fmt::format(", {} {}", count, words);
        }
    auto section = sectionOf("Summary", text + ".", {}, {}, true);
    section.note =
        "Variants are timed in turns within one run; compare them with each other, not with figures of other "
        "machines. Where the 95 % intervals of two medians overlap, neither is faster.";
    return section;
}

/// Leaves out columns without information: equal in every row, or measured in none. `notCold`: keeps the column of
/// caches, because some cold rows are not cold.
Table telling(const Table& table, const std::vector<std::string_view>& ids, bool notCold = false) {
    Table all = withColumns(table, ids);
    std::vector<std::string_view> kept;
    for (std::size_t c = 0; c < all.columns.size(); ++c) {
        const std::string& id = all.columns[c].id;
        const bool told = id == "cache" && notCold;
        const bool choice = !told && (id == "op" || id == "act" || id == "cache" || id == "device" || id == "roof");
        const auto same = [&](const auto& row) { return row[c] == all.rows.front()[c]; };
        const auto missing = [](const Value& value) {
            const auto* text = std::get_if<std::string>(&value);
            return std::holds_alternative<std::monostate>(value) || (text && text->empty());
        };
        const bool empty = std::ranges::all_of(all.rows, [&](const auto& row) { return missing(row[c]); });
        if (all.rows.empty() || !(empty || (choice && std::ranges::all_of(all.rows, same)))) kept.push_back(id);
    }
    return withColumns(all, kept);
}

/// The common values of the columns that were left out.
std::string commonText(const BenchmarkPlan& plan, const BenchmarkRun& run) {
    std::string out;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "All rows: " : ", ") + text; };
    if (plan.ops.size() == 1)
        if (const auto* op = findBenchOp(plan.ops.front())) add(op->title);
    if (plan.acts.size() == 1) add(plan.acts.front() + " activations");
    const bool inCaches = std::ranges::any_of(run.rows, [](const BenchmarkRow& row) { return row.timing.inCaches; });
    if (plan.caches.size() == 1 && !inCaches) add(std::string(cacheText(plan.caches.front())) + " cache");
    return out.empty() ? out : out + ".";
}

/// Lists each way of computing once.
Table arithmetic(const BenchmarkRun& run) {
    std::vector<BenchmarkRow> rows;
    for (const auto& row : run.rows) {
        const auto same = [&](const auto& known) {
            return known.question.backend == row.question.backend && known.answer.variant.id == row.answer.variant.id &&
                   known.answer.variant.note == row.answer.variant.note;
        };
        if (!row.answer.variant.id.empty() && std::ranges::none_of(rows, same)) {
            auto& one = rows.emplace_back();
            one.question.backend = row.question.backend, one.answer.variant.id = row.answer.variant.id;
            one.answer.variant.title = row.answer.variant.title, one.answer.variant.note = row.answer.variant.note;
        }
    }
    Table table =
        withColumns(makeTable({}, benchmarkColumns(), rows), {"backend", "variant", "variant_title", "variant_note"});
    table.title = "Variants";
    return table;
}

Table rowsWith(const BenchmarkRun& run, bool measured, const std::vector<std::string_view>& ids, const char* title) {
    std::vector<BenchmarkRow> rows;
    for (const auto& row : run.rows)
        if (row.timing.medianNs.has_value() == measured) rows.push_back(row);
    Table all = makeTable(title, benchmarkColumns(), rows);
    sayConditions(all, rows);
    const bool notCold = std::ranges::any_of(rows, [](const BenchmarkRow& row) { return row.timing.inCaches; });
    Table table = telling(all, ids, notCold);
    table.title = title;
    return table;
}

} // namespace

std::vector<std::string> benchPaths(const BenchmarkPlan& plan) {
    std::vector<std::string> paths;
    for (const auto& source : plan.backends) {
        if (!source.path.empty()) paths.push_back(source.path);
        for (const auto& [key, value] : source.options)
            if (value.find('/') != std::string::npos) paths.push_back(value);
    }
    if (plan.model) paths.push_back(plan.model->path);
    return paths;
}

Report benchmarkReport(const BenchmarkPlan& plan, const BenchmarkRun& run, const std::vector<ComparedRow>& compared) {
    Report report;
    report.title = plan.model ? plan.model->title : "Backends";
    report.subtitle = "Speed and error of quantized matrix products";
    report.provenance = run.provenance;
    report.data = makeTable({}, benchmarkColumns(), run.rows);
    const Table roofs = makeTable("Measured roofs", roofColumns(), run.roofs);
    report.more.emplace_back("roofs", roofs);

    report.sections.push_back(summary(run));
    if (!compared.empty()) {
        const Table table = makeTable({}, comparedColumns(), compared);
        report.more.emplace_back("compared", table);
        report.sections.push_back(
            sectionOf("Against the earlier run",
                      "Ratios are times before / now. A change is named only where it is larger than the spread "
                      "of the rounds in both runs and than what the machine itself drifted between them.",
                      {table}, {}, true));
    }
    if (!run.passes.empty()) {
        const Table table = makeTable({}, modelPassColumns(), run.passes);
        report.more.emplace_back("model", table);
        report.sections.push_back(
            sectionOf("One pass over the model",
                      "The matrix products alone: each shape's median times how often the model has it.",
                      {telling(table, {"backend", "spec", "op", "act", "m", "cache", "pass_ns", "tokens_per_second",
                                       "speedup_vs_f32", "products", "missing", "variants", "reason"})},
                      {}, true));
    }
    auto plots = benchmarkPlots(run);
    if (!plots.empty()) report.sections.push_back(sectionOf("Charts", {}, {}, std::move(plots)));
    std::vector<Table> tables;
    if (auto table = rowsWith(run, true,
                              {"backend", "spec", "op", "act", "m", "n", "k", "cache", "variant", "median_ns", "ci_ns",
                               "speedup_vs_f32", "gflops", "weight_gbps", "roof_share", "roof", "nmse", "format_nmse"},
                              "Speed beside error");
        !table.rows.empty())
        tables.push_back(std::move(table));
    if (auto table = rowsWith(run, false,
                              {"backend", "spec", "op", "act", "m", "n", "k", "cache", "variant", "status", "reason"},
                              "Not measured, and why");
        !table.rows.empty())
        tables.push_back(std::move(table));
    std::string text = commonText(plan, run);
    if (const auto warm = cacheRoofText(run.rows); !warm.empty()) text += (text.empty() ? "" : " ") + warm + '.';
    report.sections.push_back(sectionOf("Rows", text, std::move(tables), {}, true));
    report.sections.push_back(sectionOf(
        "Correctness and preparation",
        "Kernel error is that of the variant on the quantized operands, against f64; format error is what quantization "
        "itself costs the product. Preparation happens once.",
        {telling(report.data, {"backend", "spec", "op", "act", "m", "n", "k", "variant", "status", "nmse", "nmse_limit",
                               "tail_nmse", "approx_nmse", "checked_outputs", "checked_shapes", "prepare_ns",
                               "upload_ms", "compile_ms", "weight_bytes"}),
         arithmetic(run)}));
    report.sections.push_back(
        sectionOf("Measured roofs", "Taken in the same run with the same threads. Above 105 % of one a row is invalid.",
                  {roofs}));
    return report;
}

} // namespace qs
