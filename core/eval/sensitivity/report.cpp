// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/report.h"

#include "core/analysis/analysis_report.h"
#include "core/base/lists.h"
#include "core/eval/run/report.h"
#include "core/eval/trust/trust_report.h"
#include "core/layouts/layout.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::size_t kMostBars = 40;

std::string titleOf(const SensitivityRow& row) { return row.spec.empty() ? row.how : row.how + ", " + row.spec; }

/// Rows of one way to measure and one spec, in their original order.
std::vector<std::vector<SensitivityRow>> bySpec(const std::vector<SensitivityRow>& rows) {
    std::vector<std::vector<SensitivityRow>> out;
    for (const SensitivityRow& row : rows) {
        const auto same = [&](const auto& one) { return one.front().spec == row.spec && one.front().how == row.how; };
        auto found = std::ranges::find_if(out, same);
        if (found == out.end()) found = out.insert(out.end(), std::vector<SensitivityRow>());
        found->push_back(row);
    }
    return out;
}

/// The columns in which a row has something to show.
template<class Row> Columns<Row> withValues(const Columns<Row>& columns, const std::vector<Row>& rows) {
    Columns<Row> out;
    for (const auto& column : columns) {
        const auto shows = [&](const Row& row) {
            const Value value = column.value(row);
            const auto* text = std::get_if<std::string>(&value);
            return text ? !text->empty() : !std::holds_alternative<std::monostate>(value);
        };
        if (std::ranges::any_of(rows, shows)) out.push_back(column);
    }
    return out;
}

Plot barsOf(const std::vector<SensitivityRow>& rows) {
    Plot plot;
    plot.title = "Ranked: " + titleOf(rows.front()), plot.yTitle = "figure of the rank";
    plot.namesTensors = rows.front().isTensor;
    Plot::Series series;
    series.name = titleOf(rows.front());
    for (const SensitivityRow& row : rows) {
        const auto figure = row.rank();
        if (!figure || plot.categories.size() == kMostBars) continue;
        plot.categories.push_back(row.unit), series.y.push_back(figure->mean);
    }
    plot.series.push_back(std::move(series));
    return plot;
}

/// A map of layers by roles; only if every unit is one tensor.
Plot mapOf(const std::vector<SensitivityRow>& rows) {
    Plot plot;
    plot.kind = Plot::Kind::HeatMap, plot.title = "Layer by role: " + titleOf(rows.front());
    plot.cellTitle = "figure of the rank", plot.cellDecimals = 5;
    int layers = 0;
    for (const SensitivityRow& row : rows) {
        layers = std::max(layers, row.layer + 1);
        if (row.layer >= 0) addOnce(plot.categories, row.role);
    }
    for (int layer = 0; layer < layers; ++layer) plot.rowLabels.push_back(std::to_string(layer));
    plot.cells.assign(plot.rowLabels.size() * plot.categories.size(), std::numeric_limits<double>::quiet_NaN());
    for (const SensitivityRow& row : rows) {
        const auto role = std::find(plot.categories.begin(), plot.categories.end(), row.role);
        const auto column = std::size_t(role - plot.categories.begin());
        if (const auto figure = row.rank(); figure && row.layer >= 0 && role != plot.categories.end())
            plot.cells[std::size_t(row.layer) * plot.categories.size() + column] = figure->mean;
    }
    return plot;
}

} // namespace

std::vector<SensitivityRow> ranked(std::vector<SensitivityRow> rows) {
    std::vector<SensitivityRow> out;
    for (auto& same : bySpec(rows)) {
        const auto key = [](const SensitivityRow& row) {
            const auto figure = row.rank();
            return figure && std::isfinite(figure->mean) ? figure->mean : -INFINITY;
        };
        std::ranges::stable_sort(same, [&](const auto& a, const auto& b) { return key(a) > key(b); });
        std::move(same.begin(), same.end(), std::back_inserter(out));
    }
    return out;
}

Table additivityTable(const std::string& title, const std::vector<Additivity>& rows) {
    return makeTable(title, withValues(additivityColumns(), rows), rows);
}

Table sensitivityTable(const std::string& title, const std::vector<SensitivityRow>& rows) {
    return makeTable(title, withValues(sensitivityColumns(), rows), rows);
}

std::vector<TrustRow> sensitivityTrust(const Sensitivity& result, std::span<const ImportedColumn> imported) {
    std::vector<TrustRow> out;
    for (const TrustTable& table : tensorTrusts(result.rows, imported))
        for (TrustRow& row : trustRows(table))
            if (row.agreement) out.push_back(std::move(row));
    return out;
}

std::string referenceRemark(const Sensitivity& result) {
    std::string out = referenceRemark(result.matrices, result.quantizedMatrices);
    for (const std::string& refusal : result.refusals) out += (out.empty() ? "" : " ") + refusal;
    return out;
}

std::string sensitivityNote(std::span<const SensitivityHow* const> hows) {
    std::string text;
    bool isSum = false, isProxy = false;
    for (const SensitivityHow* how : hows) {
        text += how->summary + std::string(" ");
        isSum = isSum || how->isSumMeaningful, isProxy = isProxy || how->isProxy;
    }
    text += "Activations are f32: the figures show the effect of the weights alone.";
    if (isProxy) text += " The error of a layer's own output is a proxy for that of the model.";
    if (isSum)
        text += " Read the additivity beside them: where it is far from 1, single figures do not add up to that of all "
                "at once.";
    return text;
}

Result<Report> sensitivityReport(const Model& model, const SensitivityPlan& plan, const Sensitivity& result,
                                 std::span<const ImportedColumn> imported, const std::string& commandLine,
                                 const Job& job) {
    std::string specs;
    for (const QuantSpec& spec : plan.specs) specs += (specs.empty() ? "" : "; ") + canonicalText(spec);
    auto provenance = modelProvenance(model, specs, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    if (auto done = addTextProvenance(plan.text, plan.context, result.chunks, *provenance, job); !done)
        return tl::unexpected(done.error());
    addScoredProvenance(plan.scored, *provenance);
    std::string hows;
    for (const SensitivityHow* how : result.hows) {
        provenance->emplace_back("how", how->id);
        if (how->seed) addSeed(*provenance, fmt::format("{} for the noise of {}", *how->seed, how->id));
        hows += (hows.empty() ? "" : ", ") + std::string(how->id);
    }
    provenance->emplace_back("by", plan.by->id);
    if (plan.scope.layout) provenance->emplace_back("layout", plan.scope.layout->id);
    provenance->emplace_back("runs", std::to_string(result.runs));
    provenance->emplace_back("runs_kept", std::to_string(result.keptRuns));
    if (plan.until > 0) {
        provenance->emplace_back("until", fmt::format("{}", plan.until));
        provenance->emplace_back("runs_ended", std::to_string(result.endedRuns));
    }

    Report report;
    report.title = model.title;
    report.subtitle = fmt::format("Sensitivity, {}: {} rows over {} tokens in {} chunks", hows, result.rows.size(),
                                  result.tokens, result.chunks);
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, sensitivityColumns(), result.rows);
    Section section;
    section.title = "Sensitivity: " + hows;
    section.brief = true;
    section.note = sensitivityNote(result.hows);
    if (const std::string remark = referenceRemark(result); !remark.empty()) section.note += " " + remark;
    section.text = "Errors by chunk treat chunks as independent. Two units differ where the difference is well above "
                   "both errors.";
    const auto rows = ranked(result.rows);
    for (const auto& same : bySpec(rows)) {
        section.plots.push_back(barsOf(same));
        if (std::ranges::all_of(same, [](const auto& row) { return row.isTensor; }))
            section.plots.push_back(mapOf(same));
    }
    if (!result.additivity.empty()) {
        section.tables.push_back(additivityTable("Additivity", result.additivity));
        report.more.emplace_back("additivity", makeTable("Additivity", additivityColumns(), result.additivity));
    }
    for (const SensitivityHow* how : result.hows)
        section.tables.push_back(sensitivityTable(fmt::format("Ranked: {}", how->title), ranked(result.rowsOf(*how))));
    report.sections.push_back(std::move(section));
    addTrust(sensitivityTrust(result, imported), imported, report);
    addLeftOut(model, {""}, report);
    return report;
}

} // namespace qs::eval
