// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/trust/trust_report.h"

#include "core/analysis/analysis_report.h"
#include "core/eval/network/network_weights.h"
#include "core/records/unit_run.h"

#include <fmt/format.h>

namespace qs::eval {

void addTrust(const std::vector<TrustRow>& trust, std::span<const ImportedColumn> imported, Report& report) {
    if (trust.empty() && imported.empty()) return;
    Section section;
    section.title = "Trust in proxies", section.brief = true, section.text = kTrustText;
    if (!trust.empty()) {
        section.tables.push_back(makeTable("Kendall's tau", trustColumns(), trust));
        report.more.emplace_back("trust", section.tables.back());
        addSeed(report.provenance, fmt::format("{} for the samples of the trust meter", kResamplingSeed));
    }
    if (!imported.empty()) {
        section.tables.push_back(
            makeTable("Imported", importedColumns(), std::vector<ImportedColumn>(imported.begin(), imported.end())));
        report.more.emplace_back("imported", section.tables.back());
    }
    report.sections.push_back(std::move(section));
}

Result<std::vector<SpecProxies>> specProxies(const std::shared_ptr<const Model>& model,
                                             std::span<const QuantSpec> specs, UnitRun* units, const Job& job) {
    AnalysisPlan plan{.model = model, .tensors = {}, .specs = {}, .options = {}};
    plan.options.statistics = false;
    for (const TensorInfo& tensor : model->tensors)
        if (tensor.isWeight()) plan.tensors.push_back(&tensor);
    for (const QuantSpec& spec : specs) plan.specs.emplace_back(specText(spec), spec);
    plan.units = units;
    if (units) units->begin(weightOf(plan));
    const auto result = analyse(plan, job);
    if (!result) return tl::unexpected(result.error());
    std::vector<SpecProxies> out;
    for (const SpecTotal& total : totals(result->rows)) {
        if (total.refused > 0 || !(total.sums.sw2 > 0)) continue;
        out.push_back({total.specAsTyped, total.bpw, total.sums.se2 / total.sums.sw2, {}, {}});
    }
    return out;
}

std::vector<TrustRow> specTrustRows(std::span<const SpecProxies> proxies, std::vector<EvaluationRow> rows,
                                    std::span<const ImportedColumn> imported) {
    std::vector<TrustRow> out;
    if (proxies.empty()) return out;
    std::erase_if(rows, [](const auto& row) { return row.kind != RowKind::Spec || !row.servedBy.empty(); });
    for (TrustRow& row : trustRows(specTrust(proxies, rows, imported)))
        if (row.agreement) out.push_back(std::move(row));
    return out;
}

} // namespace qs::eval
