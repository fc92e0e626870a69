// SPDX-License-Identifier: GPL-3.0-or-later
// What an analysis says on paper. Titles and units are the registries'; nothing is computed here that a row does not
// hold.
#include "core/analysis/analysis_report.h"

#include "core/analysis/effect_section.h"
#include "core/analysis/proxy_trust.h"
#include "core/analysis/report_plots.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_set>

namespace qs {
namespace {

std::vector<std::vector<AnalysisRow>> bySpec(const AnalysisPlan& plan, const AnalysisResult& result) {
    std::vector<std::vector<AnalysisRow>> specs(plan.specs.size());
    for (const auto& row : result.rows)
        for (std::size_t s = 0; s < plan.specs.size(); ++s)
            if (row->specAsTyped == plan.specs[s].first) {
                specs[s].push_back(row);
                break;
            }
    return specs;
}

std::string counted(std::size_t n, const char* one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

Section summary(const AnalysisPlan& plan, const AnalysisResult& result, const WholeAnalysis* whole) {
    Section section{.title = "Summary", .text = {}, .note = {}, .cards = {}, .tables = {}, .plots = {}, .brief = true};
    section.note = (whole ? proxyRemark(nmseMetric(), std::nullopt) : proxyRemark(nmseMetric(), result.rows, true)) +
                   " A proxy says where to look first; only an evaluation of the model's output says what is lost.";
    if (const std::string remark = quantizedSource(*plan.model).sentence(); !remark.empty())
        section.note += " " + remark;
    const auto sums = whole ? whole->totals : totals(result.rows, plan.model.get());
    std::uint64_t refused = 0, kept = 0;
    for (const SpecTotal& one : sums) refused += one.refused, kept += one.kept;
    const std::size_t tensors = (whole ? whole->plan : &plan)->tensors.size();
    section.text = fmt::format("{} of {} measured in {}; {} kept as they are.", counted(tensors, "tensor"),
                               escapeForPeople(plan.model->title),
                               result.seconds < 0.1 ? "less than 0.1 s" : durationText(result.seconds),
                               counted(plan.model->tensors.size() - tensors, "other"));
    if (refused)
        section.text +=
            fmt::format(" {} could not be measured: the reasons are listed below.", counted(refused, "row"));
    if (kept)
        section.text += fmt::format(" {} not measured: the layout of the spec keeps the tensor as it is.",
                                    kept == 1 ? "1 row is" : fmt::format("{} rows are", kept));
    if (whole)
        section.text +=
            fmt::format(" The tables list {} of these tensors, those with the largest and the least errors, "
                        "and plots of all of them are left out; the JSON and CSV files list all.",
                        plan.tensors.size());
    for (const std::string& sentence : whole ? whole->remarks : remarksOf(result.rows)) section.text += " " + sentence;
    section.cards =
        withColumns(makeTable({}, totalColumns(), sums), {"spec", "spec_full", "bpw", "bpw_all", "sqnr_db", "nmse",
                                                          "bytes_before", "bytes", "matrices", "refused"});
    return section;
}

/// Ten tensors that are worst over all specs: by the sum of their ranks, so that the coarsest spec does not decide
/// alone.
Table worstTensors(const AnalysisPlan& plan, const std::vector<std::vector<AnalysisRow>>& specs, const Metric& metric,
                   const Metric& shown) {
    constexpr std::size_t most = 10, mostSpecs = 6;
    std::vector<std::string> names;
    std::vector<std::pair<double, std::size_t>> order;
    std::vector<std::vector<AnalysisRow>> rows(plan.tensors.size());
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) order.emplace_back(0, t);
    for (const auto& of : specs) {
        std::vector<std::pair<double, std::size_t>> ranked;
        for (std::size_t t = 0; t < of.size() && t < rows.size(); ++t) {
            rows[t].push_back(of[t]);
            const auto value = of[t]->status == Status::Ok ? metric.value(*of[t]) : std::nullopt;
            if (value) ranked.emplace_back(*value, t);
        }
        std::ranges::sort(ranked);
        for (std::size_t r = 0; r < ranked.size(); ++r) order[ranked[r].second].first += double(r + 1);
    }
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });

    Table table;
    const auto named = analysisColumns().pick({"tensor", "shape"});
    table.columns.assign(named.begin(), named.end());
    for (std::size_t s = 0; s < specs.size() && s < mostSpecs; ++s) {
        ColumnInfo& column = table.columns.emplace_back(metricColumn(shown));
        column.id += " " + plan.specs[s].first;
        column.title = plan.specs[s].first + " " + column.title;
    }
    for (const auto& [rank, t] : order) {
        if (rank == 0 || table.rows.size() == most || rows[t].empty()) break;
        auto& cells = table.rows.emplace_back();
        for (const auto& column : named) cells.push_back(column.value(rows[t].front()));
        for (std::size_t s = 0; s < specs.size() && s < mostSpecs; ++s) {
            cells.emplace_back();
            if (rows[t][s]->status != Status::Ok) continue;
            if (const auto value = shown.value(*rows[t][s])) cells.back() = *value;
        }
    }
    return table;
}

std::vector<Table> tensorTables(const AnalysisPlan& plan, const AnalysisResult& result, const Table& data,
                                const WholeAnalysis* whole) {
    std::vector<Table> tables = {
        withColumns(data, {"tensor", "shape", "spec", "status", "bpw", "sqnr_db", "nmse", "cosine", "max_abs"})};
    Table reasons = withColumns(data, {"tensor", "spec", "status", "reason"});
    std::vector<std::vector<Value>> refused;
    for (std::size_t i = 0; i < result.rows.size() && i < reasons.rows.size(); ++i)
        if (result.rows[i]->status != Status::Ok) refused.push_back(reasons.rows[i]);
    if (!refused.empty()) {
        reasons.title = "Not measured, and why";
        reasons.rows = std::move(refused);
        tables.push_back(std::move(reasons));
    }
    Table larger = withColumns(data, {"tensor", "spec", "bpw", "source_bpw", "reason"});
    std::vector<std::vector<Value>> aboveSource;
    for (std::size_t i = 0; i < result.rows.size() && i < larger.rows.size(); ++i)
        if (result.rows[i]->isLarger()) {
            larger.rows[i].back() = result.rows[i]->larger;
            aboveSource.push_back(larger.rows[i]);
        }
    if (!aboveSource.empty()) {
        larger.title = "Larger than the source";
        larger.rows = std::move(aboveSource);
        tables.push_back(std::move(larger));
    }
    if (whole) return tables;
    const std::unordered_set<const TensorInfo*> taken(plan.tensors.begin(), plan.tensors.end());
    std::vector<InspectRow> kept;
    for (const auto& tensor : plan.model->tensors)
        if (!taken.count(&tensor)) kept.push_back({tensor, {}, {}, {}});
    if (!kept.empty())
        tables.push_back(withColumns(makeTable("Kept as they are", inspectColumns(false), kept),
                                     {"name", "dtype", "shape", "bytes"}));
    return tables;
}

std::string specsText(const AnalysisPlan& plan) {
    std::string specs;
    for (const auto& [typed, spec] : plan.specs)
        specs += (specs.empty() ? "" : "; ") + typed + " = " + canonicalText(spec);
    return specs;
}

constexpr const char *kSeeds = "seeds", *kNoSeeds = "none: every step is deterministic";

} // namespace

Result<Provenance> modelProvenance(const Model& model, const std::string& specs, const std::string& commandLine,
                                   const Job& job) {
    Provenance lines = {{"input", model.path}, {"input_format", model.format}};
    std::uint64_t bytes = 0;
    for (const auto& file : model.files) bytes += file.size;
    lines.emplace_back("input_bytes", std::to_string(bytes));
    const bool several = model.files.size() > 1;
    for (const auto& file : model.files) {
        auto hash = sha256OfFile(file.path, job);
        if (!hash) return tl::unexpected(hash.error());
        lines.emplace_back("input_sha256",
                           several ? *hash + "  " + std::filesystem::path(file.path).filename().string() : *hash);
    }
    if (auto remark = quantizedSource(model).sentence(); !remark.empty())
        lines.emplace_back("source_quantized", std::move(remark));
    lines.emplace_back("specs", specs);
    lines.emplace_back(kSeeds, kNoSeeds);
    for (auto& line : machineProvenance()) lines.push_back(std::move(line));
    if (!commandLine.empty()) lines.emplace_back("command_line", commandLine);
    if (auto sentence = leftOutSentence(model); !sentence.empty()) lines.emplace_back("left_out", std::move(sentence));
    return lines;
}

void addLeftOut(const Model& model, const std::vector<std::string>& specs, Report& report) {
    if (model.undecoded.empty()) return;
    const Columns<UndecodedLayer> columns = {
        {{"tensor", "Layer", "", Show::Text, 0, Direction::None, "A quantized layer that is not decoded"},
         [](const UndecodedLayer& one) -> Value { return one.name; }},
        {{"parts", "Parts", "", Show::Integer, 0, Direction::None, "Tensors that hold it"},
         [](const UndecodedLayer& one) -> Value { return std::int64_t(one.parts.size()); }},
        {{"reason", "Why", "", Show::Text, 0, Direction::None, "Why it is not decoded"},
         [](const UndecodedLayer& one) -> Value { return one.why; }}};
    Table table = makeTable("Left out", columns, model.undecoded);
    report.more.emplace_back("left_out", table);
    const auto has = [&](std::string_view id) {
        return std::ranges::any_of(report.data.columns, [&](const ColumnInfo& column) { return column.id == id; });
    };
    const std::string name = has("tensor") ? "tensor" : has("unit") ? "unit" : "class";
    const std::string why = has("reason") ? "reason" : "refused";
    for (const std::string& spec : has(name) && has(why) ? specs : std::vector<std::string>())
        for (const UndecodedLayer& one : model.undecoded) {
            auto& row = report.data.rows.emplace_back();
            for (const ColumnInfo& column : report.data.columns)
                row.push_back(column.id == name       ? Value(one.name)
                              : column.id == "spec"   ? Value(spec)
                              : column.id == "status" ? Value(std::string(statusId(Status::Refused)))
                              : column.id == why      ? Value("not decoded: " + one.why)
                                                      : Value());
        }
    Section section;
    section.title = "Left out";
    section.text = leftOutSentence(model);
    section.tables.push_back(std::move(table));
    section.brief = true;
    report.sections.push_back(std::move(section));
}

void addSeed(Provenance& provenance, const std::string& seed) {
    for (auto& [key, value] : provenance)
        if (key == kSeeds) value = value == kNoSeeds ? seed : value + "; " + seed;
}

Result<Report> analysisReport(const AnalysisPlan& plan, const AnalysisResult& result, const ReportContents& contents,
                              const std::string& commandLine, const Job& job, const WholeAnalysis* whole) {
    Report report;
    report.title = plan.model->title;
    report.subtitle = "What quantization does to its weights under ";
    for (std::size_t i = 0; i < plan.specs.size(); ++i)
        report.subtitle += (i == 0 ? "" : i + 1 == plan.specs.size() ? " and " : ", ") + plan.specs[i].first;
    auto provenance = modelProvenance(*plan.model, specsText(plan), commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, analysisColumns(), result.rows);

    const auto specs = bySpec(plan, result);
    const Metric* error = &nmseMetric();
    const Metric* ratio = &sqnrMetric();

    const auto add = [&](const char* title, std::string text, std::vector<Plot> plots, std::vector<Table> tables,
                         bool brief = false) {
        if (plots.empty() && tables.empty()) return;
        report.sections.push_back({title, std::move(text), {}, {}, std::move(tables), std::move(plots), brief});
    };
    const std::string proxy = whole ? proxyRemark(*error, std::nullopt) : proxyRemark(*error, result.rows);
    if (contents.summary) report.sections.push_back(summary(plan, result, whole));
    if (contents.ranking && !whole)
        if (auto effects = effectSection(plan, specs, report.data)) report.sections.push_back(std::move(*effects));
    if (contents.heatMaps)
        add("Layers and roles", proxy + " The worst tensor of each place is shown.", placeMaps(plan, specs, *ratio),
            {});
    if (contents.ranking)
        add("Worst tensors", proxy + " The table ranks tensors by their rank under all specs, the bars under each one.",
            rankings(plan, specs, *error), {worstTensors(plan, specs, *error, *ratio)}, true);
    if (contents.histograms) add("Distribution over tensors", proxy, distributions(plan, specs, *ratio), {});
    if (contents.histograms)
        add("Errors",
            proxy + " How large the errors are, over all measured tensors taken together: p50, p95 and "
                    "p99 are percentiles of "
                    "the size of the error. The axis is linear around 0 and logarithmic beyond, so that "
                    "the largest error is "
                    "in view.",
            errorSpreads(plan, specs, result.pooled), {});
    if (contents.codebooks)
        add("Codes",
            "Where the weights lie between the levels, and how often each code is used, over all measured tensors.",
            codebooks(plan, specs, result.pooled), {});
    if (contents.tensors) add("Tensors", proxy, {}, tensorTables(plan, result, report.data, whole));
    report.more.emplace_back(
        "specs", makeTable("Specs", totalColumns(), whole ? whole->totals : totals(result.rows, plan.model.get())));
    std::vector<std::string> asTyped;
    for (const auto& [text, spec] : plan.specs) asTyped.push_back(text);
    addLeftOut(*plan.model, asTyped, report);
    return report;
}

} // namespace qs
