// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/report.h"

#include "core/analysis/analysis_report.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::plan {
namespace {

/// Size against measured KL, a series for each kind.
Plot proofPlot(const PlanProof& proof) {
    Plot plot;
    plot.kind = Plot::Kind::Scatter;
    plot.title = "Measured KL against size", plot.xTitle = "MiB of the whole file",
    plot.yTitle = "mean KL, nats a token";
    for (const auto kind : {ContenderKind::Random, ContenderKind::Permuted, ContenderKind::Heuristic,
                            ContenderKind::Uniform, ContenderKind::Plan}) {
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

} // namespace

std::string planSummary(const PlanRecord& record) {
    const Options& options = *record.options;
    const double mib = 1 << 20;
    std::string text = fmt::format(
        "{:.4f} bits per weight of the whole file, {:.2f} MiB of {:.2f} MiB in the layout {}; {} units x {} specs; ",
        record.plan.bpw(options), double(record.plan.bytes) / mib, double(record.budget) / mib, options.layout->id,
        options.units.size(), options.specs.size());
    const double gap = record.plan.gap();
    return text + (gap == 0 ? "gap 0: no plan within the budget has a smaller sum of losses"
                            : fmt::format("gap {:.2g}: the best plan may be smaller by this share", gap));
}

Result<Report> planReport(const Model& model, const PlanRecord& record, const std::string& commandLine,
                          const Job& job) {
    const Options& options = *record.options;
    std::string specs;
    for (const QuantSpec& spec : options.specs) specs += (specs.empty() ? "" : "; ") + canonicalText(spec);
    auto provenance = modelProvenance(model, specs, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    const auto say = [&](const char* key, std::string value) { provenance->emplace_back(key, std::move(value)); };
    say("objective", record.objective->id);
    say("layout", options.layout->id);
    say("budget_bytes", std::to_string(record.budget));
    say("bytes", std::to_string(record.plan.bytes));
    say("bpw", fmt::format("{}", record.plan.bpw(options)));
    say("predicted_loss", fmt::format("{}", record.plan.loss));
    say("gap", fmt::format("{}", record.plan.gap()));
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
    const auto rows = mixtureRows(record.plan, options);
    report.data = makeTable({}, mixtureColumns(), rows);
    Section section;
    section.title = fmt::format("Plan by {}", record.objective->title);
    section.brief = true;
    section.note = record.objective->summary;
    for (const auto& remark : options.remarks) section.text += remark + " ";
    if (!record.losses->additivity.empty()) {
        section.tables.push_back(
            makeTable("Additivity of the losses", eval::additivityColumns(), record.losses->additivity));
        report.more.emplace_back("additivity", section.tables.back());
    }
    section.tables.push_back(makeTable("What each tensor becomes", mixtureColumns(), rows));
    report.sections.push_back(std::move(section));
    if (record.proof) {
        Section proof;
        proof.title = "Against chance";
        proof.brief = true;
        proof.note = fmt::format("{} tokens in {} chunks that no loss was measured on.", record.proof->tokens,
                                 record.proof->chunks);
        for (const auto& verdict : record.proof->verdicts) proof.text += verdict + " ";
        proof.plots.push_back(proofPlot(*record.proof));
        proof.tables.push_back(makeTable("Contenders", contenderColumns(), record.proof->contenders));
        report.more.emplace_back("contenders", proof.tables.back());
        report.more.emplace_back("chance", makeTable("Against chance", chanceColumns(), chanceRows(*record.proof)));
        report.sections.push_back(std::move(proof));
    }
    return report;
}

} // namespace qs::plan
