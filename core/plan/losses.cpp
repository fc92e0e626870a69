// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/losses.h"

#include "core/analysis/analysis.h"
#include "core/base/rows.h"

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
    const auto result = analyse(analysis, job);
    if (!result) return tl::unexpected(result.error());
    Losses out;
    std::size_t row = 0;
    for (const TensorInfo* tensor : request.tensors)
        for (std::size_t s = 0; s < request.specs.size(); ++s, ++row) {
            const TensorAnalysis& figures = *result->rows[row];
            auto& losses = out.of[tensor->name];
            losses.push_back(nmseMetric().value(figures));
            if (!losses.back()) out.reasons.emplace(tensor->name, figures.reason);
        }
    return out;
}

/// A figure of the network's output, from sensitivity().
Result<Losses> ofOutput(const Objective& objective, const LossRequest& request, const Job& job) {
    eval::SensitivityPlan plan = request.text;
    plan.how = objective.how, plan.by = &eval::groupings().front(), plan.specs = request.specs;
    const std::set<const TensorInfo*> wanted(request.tensors.begin(), request.tensors.end());
    plan.takes = [&](const TensorInfo& tensor) { return wanted.contains(&tensor); };
    auto result = eval::sensitivity(request.model, plan, job);
    if (!result) return tl::unexpected(result.error());
    Losses out;
    std::map<std::string, std::size_t> specs;
    for (std::size_t s = 0; s < request.specs.size(); ++s) specs.emplace(specText(request.specs[s]), s);
    for (const eval::SensitivityRow& row : result->rows) {
        const auto spec = specs.find(row.spec);
        if (spec == specs.end()) continue;
        auto& losses = out.of[row.unit];
        losses.resize(request.specs.size());
        const auto figure = row.rank();
        if (figure && std::isfinite(figure->mean))
            losses[spec->second] = figure->mean;
        else
            out.reasons.emplace(row.unit, row.reason);
    }
    out.additivity = std::move(result->additivity);
    return out;
}

std::vector<Objective> made() {
    std::vector<Objective> rows{{nmseMetric().id, "NMSE of the weights",
                                 "The sum of every tensor's NMSE: a proxy, measured on the weights alone.", true, false,
                                 nullptr, ofWeights}};
    for (const eval::SensitivityHow& how : eval::sensitivityHows())
        if (how.isLoss) rows.push_back({how.id, how.title, how.figure, how.isProxy, true, &how, ofOutput});
    return rows;
}

} // namespace

std::span<const Objective> objectives() {
    static const std::vector<Objective> rows = made();
    return rows;
}

const Objective* findObjective(std::string_view id) { return rowOf(objectives(), id); }

} // namespace qs::plan
