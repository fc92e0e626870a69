// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/report/bench_table.h"

#include "core/base/text.h"
#include "core/report/report.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr int kFused = 1; ///< of BenchmarkRow::fusion

std::size_t rowsInCaches(std::span<const BenchmarkRow> rows) {
    return std::size_t(std::ranges::count_if(rows, [](const auto& row) { return row.timing.inCaches; }));
}

std::size_t rowsWithoutCacheRoof(std::span<const BenchmarkRow> rows) {
    return std::size_t(std::ranges::count_if(rows, [](const auto& row) { return row.verdict.withoutCacheRoof; }));
}

} // namespace

void sayConditions(Table& table, std::span<const BenchmarkRow> rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const std::string& id = table.columns[c].id;
        for (std::size_t i = 0; id == "cache" && i < rows.size(); ++i)
            if (rows[i].timing.inCaches) table.rows[i][c] = std::string("not cold");
        const bool status = id == "status", speedup = id == "speedup_vs_f32";
        if (!status && !speedup) continue;
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i].timing.busy) table.rows[i][c] = std::string(status ? "ok, busy" : "busy");
    }
}

std::string cacheRoofText(std::span<const BenchmarkRow> rows) {
    const auto count = rowsWithoutCacheRoof(rows);
    if (count == 0) return {};
    return fmt::format("{} warm row{} not held against the speed of a cache, which the backend does not measure: only "
                       "arithmetic says whether the time is possible",
                       count, count == 1 ? " is" : "s are");
}

Table benchTable(const BenchmarkPlan& plan, std::vector<BenchmarkRow> rows, bool narrow) {
    std::stable_partition(rows.begin(), rows.end(), [](const auto& row) { return row.timing.medianNs.has_value(); });
    std::vector<std::string_view> ids = {
        "backend", "spec",        "op",         "act",    "m",           "n",
        "k",       "cache",       "variant",    "status", "median_ns",   "speedup_vs_f32",
        "gflops",  "weight_gbps", "roof_share", "nmse",   "approx_nmse", "format_nmse"};
    const bool approximate = std::ranges::any_of(rows, [](const auto& row) { return row.answer.variant.approx; });
    if (!approximate) std::erase(ids, "approx_nmse");
    if (plan.ops.size() == 1) std::erase(ids, "op");
    if (plan.acts.size() == 1) std::erase(ids, "act");
    if (plan.caches.size() == 1 && !rowsInCaches(rows)) std::erase(ids, "cache");
    if (narrow)
        for (const char* id : {"gflops", "roof_share", "format_nmse"}) std::erase(ids, id);
    // How the compiler treated the weights, if that is unexpected.
    if (std::ranges::any_of(rows, [](const auto& row) { return row.answer.kernel.fusion > kFused; }))
        ids.push_back("fusion");
    // The roof of a warm time, if it is not a cache.
    if (rowsWithoutCacheRoof(rows)) ids.push_back("roof");
    Table table = withColumns(makeTable({}, benchmarkColumns(), rows), ids);
    sayConditions(table, rows);
    return table;
}

std::string benchRemarks(const std::vector<BenchmarkRow>& rows) {
    std::vector<std::pair<std::string, std::size_t>> reasons;
    for (const auto& row : rows) {
        const std::string& why = row.timing.medianNs ? row.verdict.speedupReason : row.verdict.reason;
        if (why.empty()) continue;
        std::string text = row.timing.medianNs
                               ? "no speed-up: " + why
                               : fmt::format("{} {}: {}", row.question.backend, rowStateText(row.verdict.status), why);
        if (!row.timing.medianNs && !row.verdict.hint.empty()) text += "; " + row.verdict.hint;
        const auto known = std::ranges::find_if(reasons, [&](const auto& r) { return r.first == text; });
        if (known != reasons.end())
            ++known->second;
        else
            reasons.emplace_back(text, 1);
    }
    std::string out;
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < reasons.size() && i < most; ++i)
        out += fmt::format("{} x {}\n", reasons[i].second, oneSentence(reasons[i].first));
    if (reasons.size() > most) out += fmt::format("{} more reasons; --json lists them all.\n", reasons.size() - most);
    const auto busy = std::ranges::count_if(rows, [](const auto& row) { return row.timing.busy; });
    if (busy)
        out += fmt::format(
            "{} of {} rows were timed on a busy machine, or in rounds too few or too different for a ratio: close "
            "other programs, then run again, or longer with --seconds\n",
            busy, rows.size());
    if (const auto count = rowsInCaches(rows))
        out += fmt::format("{} of {} rows are not cold: within the memory limit caches may hold the copies of the "
                           "weights\n",
                           count, rows.size());
    if (const auto text = cacheRoofText(rows); !text.empty()) out += text + "\n";
    for (const auto& row : rows)
        if (row.answer.variant.approx && row.check.approxNmse)
            out +=
                fmt::format("{} on {} decodes approximately: NMSE {} against the values of {}\n", row.answer.variant.id,
                            row.question.backend, significantText(*row.check.approxNmse, 3), row.question.spec);
    return out.empty() ? out : "\n" + out;
}

} // namespace qs
