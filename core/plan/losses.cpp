// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/losses.h"

#include "core/analysis/analysis.h"
#include "core/base/rows.h"
#include "core/records/unit_run.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace qs::plan {
namespace {

/// The metric of the analysis, tensor by tensor. A tensor counts as much as any other, whatever its size, as the linear
/// model of HIGGS has it with equal factors.
Result<Losses> ofWeights(const Objective&, const LossRequest& request, const Job& job) {
    AnalysisPlan analysis;
    analysis.model = request.model, analysis.tensors = request.tensors, analysis.options.statistics = false;
    for (const QuantSpec& spec : request.specs) analysis.specs.emplace_back(specText(spec), spec);
    analysis.keepRows = false, analysis.units = request.text.units;
    // Records hold whole rows, because other commands take them too.
    if (!analysis.units) analysis.options.detail = Detail::Sums;
    if (analysis.units) analysis.units->begin(weightOf(analysis));
    Losses out;
    out.specs = request.specs;
    const auto result = analyse(analysis, job, [&](const AnalysisRow& row) { // in order, from one thread at a time
        auto& losses = out.of[row->tensor];
        const auto nmse = nmseMetric().value(*row);
        losses.push_back(nmse ? std::optional(eval::Estimate{*nmse, {}, {}}) : std::nullopt);
        if (!nmse) out.reasons.emplace(row->tensor, row->reason);
    });
    return result ? Result<Losses>(std::move(out)) : tl::unexpected(result.error());
}

/// A figure of the network's output, from sensitivity().
Result<Losses> ofOutput(const Objective& objective, const LossRequest& request, const Job& job) {
    eval::SensitivityPlan plan = request.text;
    plan.how = objective.how, plan.by = &eval::groupings().front(), plan.specs = request.specs;
    const std::set<const TensorInfo*> wanted(request.tensors.begin(), request.tensors.end());
    plan.takes = [&](const TensorInfo& tensor) { return wanted.contains(&tensor); };
    auto result = eval::sensitivity(request.model, plan, job);
    if (!result) return tl::unexpected(result.error());
    Losses out = lossesOf(request.specs, result->rows);
    out.additivity = std::move(result->additivity);
    return out;
}

std::vector<Objective> made() {
    std::vector<Objective> rows{{nmseMetric().id, "NMSE of the weights",
                                 "The sum of every tensor's NMSE: a proxy, measured on the weights alone.", true, false,
                                 nullptr, false, ofWeights}};
    for (const eval::SensitivityHow& how : eval::sensitivityHows())
        if (how.isLoss)
            rows.push_back({how.id, how.title, how.figure, how.isProxy, true, &how, how.isSumMeaningful, ofOutput});
    return rows;
}

} // namespace

Losses lossesOf(const std::vector<QuantSpec>& specs, std::span<const eval::SensitivityRow> rows, const Losses* nmse) {
    Losses out;
    out.specs = specs;
    std::map<std::string, std::size_t> places;
    for (std::size_t s = 0; s < specs.size(); ++s) places.emplace(specText(specs[s]), s);
    for (const eval::SensitivityRow& row : rows) {
        const auto spec = places.find(row.spec);
        if (spec == places.end()) continue;
        auto& losses = out.of[row.unit];
        losses.resize(specs.size());
        const auto figure = row.rank();
        if (figure && std::isfinite(figure->mean))
            losses[spec->second] = figure;
        else
            out.reasons.emplace(row.unit, row.reason);
    }
    if (!nmse) return out;
    for (const eval::SensitivityRow& row : rows) {
        const auto known = nmse->of.find(row.unit);
        if (!row.slope || known == nmse->of.end()) continue;
        auto& losses = out.of[row.unit];
        losses.resize(specs.size());
        for (std::size_t s = 0; s < specs.size(); ++s) {
            const auto at = std::find(nmse->specs.begin(), nmse->specs.end(), specs[s]) - nmse->specs.begin();
            if (losses[s] || std::size_t(at) >= known->second.size() || !known->second[std::size_t(at)]) continue;
            const double error = known->second[std::size_t(at)]->mean;
            losses[s] = eval::Estimate{row.slope->mean * error, {}, {}};
            if (row.slope->byChunk) losses[s]->byChunk = *row.slope->byChunk * error;
        }
    }
    return out;
}

std::span<const Objective> objectives() {
    static const std::vector<Objective> rows = made();
    return rows;
}

const Objective* findObjective(std::string_view id) { return rowOf(objectives(), id); }

} // namespace qs::plan
