// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/report.h"

#include "core/analysis/analysis_report.h"

#include <fmt/format.h>

namespace qs::eval {

std::vector<EvaluationRow> evaluationRows(const EvaluationPlan& plan, const Evaluation& result) {
    std::vector<EvaluationRow> rows;
    for (std::size_t i = 0; i < plan.changes.size(); ++i)
        rows.push_back({plan.changes[i].name, summarize(result.scores[i]), result.reasons[i]});
    return rows;
}

Result<Report> evaluationReport(const Model& model, const EvaluationPlan& plan, const Evaluation& result,
                                const std::string& commandLine, const Job& job) {
    std::string details;
    for (const WeightChange& change : plan.changes) details += (details.empty() ? "" : "; ") + change.detail;
    auto provenance = modelProvenance(model, details, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    provenance->emplace_back("text_file", plan.text.path);
    provenance->emplace_back("text_sha256", plan.text.sha256);
    provenance->emplace_back("context", std::to_string(plan.context));
    provenance->emplace_back("chunks", std::to_string(result.chunks));
    provenance->emplace_back("scored", plan.scored == Scored::All ? "all" : "second half of every chunk");

    Report report;
    report.title = model.title;
    report.subtitle = fmt::format("The output of the network under {} specs, over {} tokens in {} chunks",
                                  plan.changes.size(), result.tokens, result.chunks);
    report.provenance = std::move(*provenance);
    report.data = makeTable({}, evaluationColumns(), evaluationRows(plan, result));
    Section section;
    section.title = "Evaluation";
    section.brief = true;
    section.note = "Activations are f32: the figures show the effect of the quantized weights alone.";
    section.text = "KL is the divergence of the quantized network's next-token distribution from that of the "
                   "reference. Errors by chunk treat chunks as independent; errors by token are too small, because "
                   "neighbouring tokens are alike.";
    section.tables.push_back(report.data);
    section.tables.front().title = "Specs";
    report.sections.push_back(std::move(section));
    return report;
}

} // namespace qs::eval
