// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis_report.h"
#include "core/analysis/sweep/sweep.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

std::vector<std::string> linesOf(const SweepPlan& plan) {
    std::vector<std::string> lines;
    for (const auto& spec : plan.specs) addOnce(lines, spec.line);
    return lines;
}

void widen(Plot::Range& range, double value) {
    if (!(value >= range.low)) range.low = value;
    if (!(value <= range.high)) range.high = value;
}

Table shownTable(const char* title, const std::vector<SweepPoint>& points) {
    Table table = withColumns(
        makeTable(title, sweepColumns(), points),
        columnsWithEffects(points, {"class", "spec", "bpw", "sqnr_db", "nmse", "bytes_all", "worst_tensor"}));
    table.title = title;
    return table;
}

} // namespace

std::vector<std::string_view> columnsWithEffects(const std::vector<SweepPoint>& points,
                                                 std::vector<std::string_view> ids) {
    const auto behind = std::find(ids.begin(), ids.end(), "nmse") - ids.begin() + 1;
    for (const char* id : {"kl_predicted_se", "kl_predicted", "kl_alone_se", "kl_alone", "kl_model_se", "kl_model"}) {
        const auto& column = sweepColumns()[sweepColumns().indexOf(id)];
        const auto shows = [&](const SweepPoint& p) { return column.value(p) != Value(); };
        if (std::ranges::any_of(points, shows)) ids.insert(ids.begin() + behind, id);
    }
    return ids;
}

std::vector<Plot> sweepPlots(const SweepPlan& plan, const SweepResult& result) {
    const auto lines = linesOf(plan);
    std::vector<Plot> plots;
    Plot::Range x, y;
    for (std::size_t c = 0; c < result.classes.size(); ++c) {
        Plot plot;
        plot.kind = Plot::Kind::Scatter;
        plot.title = result.classes[c];
        plot.xTitle = "bits per weight", plot.yTitle = "SQNR dB \xe2\x86\x91";
        std::vector<const SweepPoint*> points;
        for (std::size_t s = 0; s < result.specs; ++s)
            if (result.at(c, s).bpw() && result.at(c, s).sqnrDb()) points.push_back(&result.at(c, s));
        std::ranges::stable_sort(points, [](const SweepPoint* a, const SweepPoint* b) {
            return std::pair(*a->bpw(), *a->sqnrDb()) < std::pair(*b->bpw(), *b->sqnrDb());
        });
        for (const auto& line : lines) plot.series.push_back({line, {}, {}, {}});
        for (const auto* point : points) {
            auto& series = plot.series[std::size_t(std::find(lines.begin(), lines.end(), point->line) - lines.begin())];
            series.x.push_back(*point->bpw()), series.y.push_back(*point->sqnrDb());
            series.notes.push_back(
                fmt::format("{}: {:.4f} bpw, {:.2f} dB", point->specText, *point->bpw(), *point->sqnrDb()));
            widen(x, series.x.back()), widen(y, series.y.back());
            if (point->frontier) plot.frontier.x.push_back(*point->bpw()), plot.frontier.y.push_back(*point->sqnrDb());
        }
        plot.frontier.name = "frontier";
        plot.legend = c == 0;
        if (!points.empty()) plots.push_back(std::move(plot));
    }
    for (auto& plot : plots) plot.sharedX = x, plot.sharedY = y;
    return plots;
}

Result<Report> sweepReport(const SweepPlan& plan, const SweepResult& result, const std::string& commandLine,
                           const Job& job) {
    std::string specs;
    for (const auto& each : plan.specs) specs += (specs.empty() ? "" : "; ") + canonicalText(each.spec);
    auto provenance = modelProvenance(*plan.model, specs, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    Report report;
    report.title = plan.model->title;
    report.subtitle = fmt::format("Sweep of {} specs over {} tensors: SQNR against true bits per weight",
                                  plan.specs.size(), plan.tensors.size());
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, sweepColumns(), result.points);

    Section section;
    section.title = "Sweep";
    section.brief = true;
    section.note = sweepRemark(result) + " A class of tensors has figures only where all of its tensors were measured.";
    if (const std::string remark = quantizedSource(*plan.model).sentence(); !remark.empty())
        section.note += " " + remark;
    section.text = "A mark is a spec, a thin line joins the block sizes of one format, the heavy line is the frontier: "
                   "specs than which no other one has fewer bits and no more error.";
    for (const auto& choice : decodedAsChoices())
        if (choice.value == plan.decodedAs) section.text += fmt::format(" Errors are measured on {}.", choice.title);
    section.plots = sweepPlots(plan, result);
    std::vector<SweepPoint> best;
    for (std::size_t c = 0; c < result.classes.size(); ++c) {
        const std::size_t first = best.size();
        for (std::size_t s = 0; s < result.specs; ++s)
            if (result.at(c, s).frontier) best.push_back(result.at(c, s));
        std::stable_sort(best.begin() + std::ptrdiff_t(first), best.end(),
                         [](const SweepPoint& a, const SweepPoint& b) { return *a.bpw() < *b.bpw(); });
    }
    section.tables.push_back(shownTable("Frontier of each class", best));
    report.sections.push_back(std::move(section));
    Section all{.title = "All points", .text = {}, .note = {}, .cards = {}, .tables = {}, .plots = {}, .brief = false};
    all.tables.push_back(
        withColumns(report.data, columnsWithEffects(result.points, {"class", "spec", "bpw", "sqnr_db", "nmse",
                                                                    "frontier", "matrices", "refused", "reason"})));
    report.sections.push_back(std::move(all));
    addLeftOut(*plan.model, {""}, report);
    return report;
}

} // namespace qs
