// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/report.h"

#include "core/analysis/analysis_report.h"
#include "core/export/rule_book.h"
#include "core/model/quantized_source.h"
#include "core/plan/frontier.h"
#include "core/plan/heuristic.h"
#include "core/plan/speed_report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace qs::plan {
namespace {

/// Size against measured KL, a series for each kind.
Plot proofPlot(const PlanProof& proof) {
    Plot plot;
    plot.kind = Plot::Kind::Scatter;
    plot.title = "Measured KL against size", plot.xTitle = "MiB of the whole file",
    plot.yTitle = "mean KL, nats a token";
    for (const auto kind : {ContenderKind::Random, ContenderKind::Permuted, ContenderKind::Heuristic,
                            ContenderKind::Uniform, ContenderKind::Recipe, ContenderKind::Plan}) {
        Plot::Series series;
        series.name = titleOf(kind);
        for (const Contender& one : proof.contenders)
            if (one.kind == kind && one.summary) {
                series.x.push_back(double(one.mixture.bytes) / (1 << 20));
                series.y.push_back(one.summary->divergence.mean);
            }
        if (!series.y.empty()) plot.series.push_back(std::move(series));
    }
    return plot;
}

/// Size against the predicted loss: the least for all sizes, and the plan.
Plot frontierPlot(const PlanRecord& record) {
    Plot plot;
    plot.kind = Plot::Kind::Scatter;
    plot.title = "Predicted loss against size", plot.xTitle = "bits per weight of the whole file",
    plot.yTitle = record.objective->isDivergence ? "predicted KL, nats a token" : record.objective->title;
    const double perByte = 8.0 / double(std::max<std::uint64_t>(1, record.options->elements));
    Plot::Series least, uniform, recipes, plan;
    least.name = "the least for its size", uniform.name = "uniform", plan.name = "plan";
    recipes.name = titleOf(ContenderKind::Recipe);
    for (const FrontierPoint& point : frontierOf(*record.options, 100))
        least.x.push_back(double(point.bytes) * perByte), least.y.push_back(point.loss);
    for (const Mixture& one : uniformMixtures(*record.options, record.options->mostBytes()))
        uniform.x.push_back(double(one.bytes) * perByte), uniform.y.push_back(one.loss);
    for (const KnownRecipe& one : record.recipes)
        if (one.mixture.unmeasured == 0)
            recipes.x.push_back(double(one.mixture.bytes) * perByte), recipes.y.push_back(one.mixture.loss);
    plan.x.push_back(double(record.plan.bytes) * perByte), plan.y.push_back(record.plan.loss);
    for (auto* series : {&least, &uniform, &recipes, &plan})
        if (!series->x.empty()) plot.series.push_back(std::move(*series));
    return plot;
}

Table besideTable(const PlanRecord& record) {
    return makeTable("The plan beside recipes", besideColumns(),
                     besideRows(record.plan, record.recipes, *record.options));
}

/// "77.20 MiB of 77.91 MiB", with the part of the budget where there is one.
std::string sizeUse(const PlanRecord& record) {
    const double mib = 1 << 20;
    std::string text = fmt::format("{:.2f} MiB", double(record.plan.bytes) / mib);
    return record.budget.bytes ? text + fmt::format(" of {:.2f} MiB", double(*record.budget.bytes) / mib) : text;
}

/// "3.41 ms (3.38 to 3.47) of 4 ms on cpu at M = 1; "; "" without times.
std::string timeUse(const PlanRecord& record) {
    const auto& times = record.options->latencies;
    if (!times) return {};
    const Mixture& plan = record.plan;
    std::string text = timeText(double(plan.ns));
    if (std::isfinite(plan.nsRange.low) && plan.nsRange.high > 0)
        text += fmt::format(" ({} to {})", timeText(plan.nsRange.low), timeText(plan.nsRange.high));
    if (record.budget.ns) text += fmt::format(" of {}", timeText(double(*record.budget.ns)));
    text += fmt::format(" for the products of one pass at M = {} ({})", times->m, caseText(times->where));
    if (plan.untimed > 0)
        text += fmt::format(", without {} that {} not timed", plan.untimed, plan.untimed == 1 ? "was" : "were");
    return text + "; ";
}

std::string gapText(const PlanRecord& record) {
    const double gap = record.plan.gap();
    if (gap == 0) return "gap 0: no plan within the budget has a smaller sum of losses";
    return fmt::format("gap {:.2g}: the best plan may be smaller by this share{}", gap,
                       record.budget.bytes && record.budget.ns ? ", by the dual bound over the price of time" : "");
}

/// Bits per weight of the tensors that get a spec; none: there are none.
std::optional<double> quantizedBpw(const PlanRecord& record) {
    std::uint64_t bytes = 0, elements = 0;
    for (std::size_t u = 0; u < record.options->units.size(); ++u) {
        const UnitOption option = record.options->of[u][record.plan.picked[u]];
        if (!record.options->specOf(option)) continue;
        bytes += option.bytes;
        for (const TensorInfo* tensor : record.options->units.tensors(u)) elements += tensor->elements;
    }
    return elements ? std::optional(8.0 * double(bytes) / double(elements)) : std::nullopt;
}

/// What belongs to the whole plan. A proof has the plan first.
Table summaryTable(const PlanRecord& record) {
    using R = PlanRecord;
    const auto none = Direction::None;
    const auto count = [](const std::optional<std::uint64_t>& n) { return n ? Value(std::int64_t(*n)) : Value(); };
    const auto number = [](std::optional<double> x) { return x && std::isfinite(*x) ? Value(*x) : Value(); };
    const auto score = [](const R& r) { return r.proof ? r.proof->contenders.front().summary : std::nullopt; };
    Columns<R> columns{
        {{"objective", "", "", Show::Text, 0, none, ""}, [](const R& r) -> Value { return r.objective->id; }},
        {{"layout", "", "", Show::Text, 0, none, ""}, [](const R& r) -> Value { return r.options->layout->id; }},
        {{"budget_bytes", "", "", Show::Bytes, 0, none, ""}, [=](const R& r) { return count(r.budget.bytes); }},
        {{"bytes", "", "", Show::Bytes, 0, none, ""}, [](const R& r) -> Value { return std::int64_t(r.plan.bytes); }},
        {{"bpw", "", "", Show::Fixed, 4, none, ""}, [=](const R& r) { return number(quantizedBpw(r)); }},
        {{"bpw_all", "", "", Show::Fixed, 4, none, ""}, [](const R& r) -> Value { return r.plan.bpw(*r.options); }},
        {{"loss", "", "", Show::Scientific, 3, none, ""}, [](const R& r) -> Value { return r.plan.loss; }},
        {{"bound", "", "", Show::Scientific, 3, none, ""}, [=](const R& r) { return number(r.plan.bound); }},
        {{"gap", "", "", Show::Scientific, 3, none, ""}, [=](const R& r) { return number(r.plan.gap()); }},
        {{"proved", "", "", Show::Text, 0, none, ""},
         [](const R& r) -> Value { return r.plan.bound && r.plan.gap() == 0; }},
        {{"budget_ns", "", "", Show::Time, 0, none, ""}, [=](const R& r) { return count(r.budget.ns); }},
        {{"time_ns", "", "", Show::Time, 0, none, ""},
         [](const R& r) { return r.options->latencies ? Value(std::int64_t(r.plan.ns)) : Value(); }},
        {{"time_low_ns", "", "", Show::Time, 0, none, ""},
         [=](const R& r) { return r.options->latencies ? number(r.plan.nsRange.low) : Value(); }},
        {{"time_high_ns", "", "", Show::Time, 0, none, ""},
         [=](const R& r) { return r.options->latencies ? number(r.plan.nsRange.high) : Value(); }},
        {{"time_lacks", "", "", Show::Integer, 0, none, ""},
         [](const R& r) { return r.options->latencies ? Value(std::int64_t(r.plan.untimed)) : Value(); }},
        {{"time_m", "", "", Show::Integer, 0, none, ""},
         [](const R& r) { return r.options->latencies ? Value(std::int64_t(r.options->latencies->m)) : Value(); }},
        {{"kl_mean", "", "", Show::Significant, 4, none, ""},
         [=](const R& r) { return score(r) ? Value(score(r)->divergence.mean) : Value(); }},
        {{"kl_se_chunk", "", "", Show::Significant, 2, none, ""},
         [=](const R& r) { return score(r) ? number(score(r)->divergence.byChunk) : Value(); }},
        {{"top1", "", "", Show::Percent, 2, none, ""},
         [=](const R& r) { return score(r) ? Value(score(r)->sameTop.mean) : Value(); }}};
    return makeTable("Summary", columns, std::vector<R>{record});
}

} // namespace

std::string planSummary(const PlanRecord& record) {
    const Options& options = *record.options;
    return fmt::format("{:.4f} bits per weight of the whole file, {} in the layout {}; {}{} units x {} specs; {}",
                       record.plan.bpw(options), sizeUse(record), options.layout->id, timeUse(record),
                       options.units.size(), options.specs.size(), gapText(record));
}

Result<Report> planReport(const Model& model, const PlanRecord& record, const std::string& commandLine, const Job& job,
                          bool withRows) {
    const Options& options = *record.options;
    std::string specs;
    for (const QuantSpec& spec : options.specs) specs += (specs.empty() ? "" : "; ") + canonicalText(spec);
    auto provenance = modelProvenance(model, specs, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    const auto say = [&](const char* key, std::string value) { provenance->emplace_back(key, std::move(value)); };
    say("objective", record.objective->id);
    say("layout", options.layout->id);
    if (options.target) say("target", options.target->backend);
    if (const auto& times = options.latencies) {
        say("time_backend", times->where.backend);
        say("time_device", times->where.device);
    }
    if (!record.text.path.empty()) {
        say("text_file", record.text.path);
        say("text_sha256", record.text.sha256);
        say("context", std::to_string(record.context));
        say("loss_chunks", std::to_string(record.lossChunks));
    }
    Report report;
    report.title = model.title;
    report.subtitle = "Plan: " + planSummary(record);
    report.provenance = std::move(*provenance);
    report.data =
        makeTable({}, mixtureColumns(), withRows ? mixtureRows(record.plan, options) : std::vector<MixtureRow>());
    report.summary = summaryTable(record);
    if (withRows) report.sections = planSections(record);
    if (const std::string remark = quantizedSource(model).sentence(); withRows && !remark.empty())
        report.sections.front().note += " " + remark;
    if (!record.losses->additivity.empty())
        report.more.emplace_back(
            "additivity", makeTable("Additivity of the losses", eval::additivityColumns(), record.losses->additivity));
    if (!record.recipes.empty()) report.more.emplace_back("recipes", besideTable(record));
    if (record.speed) {
        report.more.emplace_back("speed", makeTable("Speed, error and size", speedColumns(), record.speed->points));
        report.more.emplace_back("crossovers", makeTable("Crossovers", crossoverColumns(), record.speed->crossovers));
    }
    if (record.proof) {
        report.more.emplace_back("baselines", makeTable("Baselines", contenderColumns(), record.proof->others(false)));
        report.more.emplace_back("nulls", makeTable("Plans by chance", contenderColumns(), record.proof->others(true)));
        report.more.emplace_back("chance", makeTable("Against chance", chanceColumns(), chanceRows(*record.proof)));
    }
    addLeftOut(model, {""}, report);
    return report;
}

std::vector<Section> planSections(const PlanRecord& record) {
    const Options& options = *record.options;
    std::vector<Section> out(1);
    Section& section = out.front();
    section.title = fmt::format("Plan by {}", record.objective->title);
    section.brief = true;
    section.note =
        std::string(record.objective->summary) + (record.objective->isProxy ? " A proxy, not the output." : "");
    section.text = planSummary(record) + ". ";
    for (const auto& remark : options.remarks) section.text += remark + " ";
    if (!record.losses->additivity.empty())
        section.tables.push_back(
            makeTable("Additivity of the losses", eval::additivityColumns(), record.losses->additivity));
    if (!record.recipes.empty()) section.tables.push_back(besideTable(record));
    section.plots.push_back(frontierPlot(record));
    section.tables.push_back(
        makeTable("What each tensor becomes", mixtureColumns(), mixtureRows(record.plan, options)));
    if (record.speed) out.push_back(speedSection(*record.speed, *record.objective));
    if (!record.proof) return out;
    Section proof;
    proof.title = "Against chance";
    proof.brief = true;
    proof.note =
        fmt::format("{} tokens in {} chunks that no loss was measured on.", record.proof->tokens, record.proof->chunks);
    for (const auto& verdict : record.proof->verdicts) proof.text += verdict + " ";
    proof.plots.push_back(proofPlot(*record.proof));
    proof.tables.push_back(makeTable("Contenders", contenderColumns(), record.proof->contenders));
    out.push_back(std::move(proof));
    return out;
}

Section recipeSection(const Model& model, const Recipe& recipe, std::span<const AnalysisRow> rows) {
    struct Row {
        std::string tensor, spec, rule;
        const TensorAnalysis* figures = nullptr;
    };
    const Columns<Row> columns{
        {{"tensor", "Tensor", "", Show::Name, 0, Direction::None, ""}, [](const Row& r) -> Value { return r.tensor; }},
        {{"spec", "Spec", "", Show::Text, 0, Direction::None, "What it becomes; keep: it stays as it is."},
         [](const Row& r) -> Value { return r.spec; }},
        {{"rule", "Matched by", "", Show::Text, 0, Direction::None, "The rule that decided; empty: the default."},
         [](const Row& r) -> Value { return r.rule.empty() ? Value() : Value(r.rule); }},
        {{"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, ""},
         [](const Row& r) -> Value { return r.figures ? Value(r.figures->bpw) : Value(); }},
        {{"nmse", "NMSE", "", Show::Scientific, 3, Direction::LowerIsBetter, "A proxy: of the weights."},
         [](const Row& r) -> Value {
             const auto nmse = r.figures ? nmseMetric().value(*r.figures) : std::nullopt;
             return nmse ? Value(*nmse) : Value();
         }}};
    const auto book = RuleBook::of(recipe.rules).value_or(RuleBook());
    std::map<std::string_view, const TensorAnalysis*> figures;
    for (const auto& row : rows)
        if (row && row->status == Status::Ok) figures.emplace(row->tensor, row.get());
    std::vector<Row> all;
    std::size_t kept = 0, unmeasured = 0;
    for (const TensorInfo& tensor : model.tensors) {
        if (!tensor.isWeight()) continue;
        const TensorRule* rule = book.first(tensor.name);
        const auto& spec = rule ? rule->spec : recipe.rest;
        const auto found = figures.find(tensor.name);
        all.push_back({tensor.name, spec ? specText(*spec) : "keep", rule ? rule->regex : std::string(),
                       spec && found != figures.end() ? found->second : nullptr});
        kept += !spec, unmeasured += spec && !all.back().figures;
    }
    Section section;
    section.title = "Recipe";
    section.brief = true;
    section.text =
        fmt::format("{} weights: {} are quantized, {} stay as they are.", all.size(), all.size() - kept, kept);
    if (unmeasured > 0) section.text += fmt::format(" {} were not measured.", unmeasured);
    section.tables.push_back(makeTable("What each weight becomes", columns, all));
    return section;
}

} // namespace qs::plan
