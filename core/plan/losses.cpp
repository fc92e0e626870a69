// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/losses.h"

#include "core/analysis/analysis.h"
#include "core/base/rows.h"
#include "core/layouts/layout.h"
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
    analysis.named = request.named, analysis.layout = request.layout;
    std::map<std::string, std::size_t> places;
    for (std::size_t s = 0; s < request.specs.size(); ++s) {
        analysis.specs.emplace_back(specText(request.specs[s]), request.specs[s]);
        places.emplace(specText(request.specs[s]), s);
    }
    analysis.keepRows = false, analysis.units = request.text.units;
    // Records hold whole rows, because other commands take them too.
    if (!analysis.units) analysis.options.detail = Detail::Sums;
    if (analysis.units) analysis.units->begin(weightOf(analysis));
    Losses out(request.model, request.specs);
    const TensorInfo* tensor = nullptr;                                      // of the last row
    const auto result = analyse(analysis, job, [&](const AnalysisRow& row) { // from one thread at a time
        if (!tensor || tensor->name != row->tensor) tensor = request.model->find(row->tensor);
        if (!tensor) return;
        if (const auto nmse = nmseMetric().value(*row))
            out.set(*tensor, places.at(row->specAsTyped), {*nmse, {}, {}});
        else
            out.setReason(*tensor, row->reason);
    });
    return result ? Result<Losses>(std::move(out)) : tl::unexpected(result.error());
}

/// A figure of the network's output, from sensitivity().
Result<Losses> ofOutput(const Objective& objective, const LossRequest& request, const Job& job) {
    eval::SensitivityPlan plan = request.text;
    plan.how = objective.how, plan.by = &eval::groupings().front(), plan.specs = request.specs;
    const std::set<const TensorInfo*> wanted(request.tensors.begin(), request.tensors.end());
    plan.scope.named = request.named, plan.scope.follows = !request.layout;
    if (request.layout && request.layout->config)
        plan.scope.layout = request.layout; // the values that its readers give
    plan.scope.takes = [&](const TensorInfo& tensor) { return wanted.contains(&tensor); };
    auto result = eval::sensitivity(request.model, plan, job);
    if (!result) return tl::unexpected(result.error());
    Losses out = lossesOf(request.model, request.specs, result->rows);
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

Losses::Losses(std::shared_ptr<const Model> model, const std::vector<QuantSpec>& specs)
    : model_(std::move(model)), reasonOf_(model_->tensors.size()) {
    for (const QuantSpec& spec : specs) add(spec);
}

Losses::Losses(std::shared_ptr<const Model> model, const NamedLosses& named) : Losses(std::move(model), named.specs) {
    for (const TensorInfo& tensor : model_->tensors) {
        const auto row = named.of.find(tensor.name);
        if (row == named.of.end()) continue;
        for (std::size_t s = 0; s < std::min(row->second.size(), specs_.size()); ++s)
            if (row->second[s]) set(tensor, s, *row->second[s]);
    }
}

NamedLosses Losses::named() const {
    NamedLosses out;
    out.specs = specs_;
    if (!model_) return out;
    for (const TensorInfo& tensor : model_->tensors) {
        std::vector<std::optional<eval::Estimate>> row;
        for (std::size_t s = 0; s < specs_.size(); ++s) row.push_back(of(tensor, s));
        if (std::ranges::any_of(row, [](const auto& loss) { return loss.has_value(); }))
            out.of.emplace(tensor.name, std::move(row));
    }
    return out;
}

void Losses::add(const QuantSpec& spec) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const std::size_t tensors = model_->tensors.size();
    specs_.push_back(spec);
    of_.push_back({std::vector<double>(tensors, none), RareValues<double>(tensors, none)});
}

std::optional<std::size_t> Losses::find(const QuantSpec& spec) const {
    const auto found = std::find(specs_.begin(), specs_.end(), spec);
    return found == specs_.end() ? std::nullopt : std::optional(std::size_t(found - specs_.begin()));
}

std::optional<eval::Estimate> Losses::of(const TensorInfo& tensor, std::size_t spec) const {
    const std::size_t at = indexOf(tensor);
    const double mean = of_[spec].mean[at], error = of_[spec].error[at];
    if (std::isnan(mean)) return {};
    return eval::Estimate{mean, {}, std::isnan(error) ? std::nullopt : std::optional(error)};
}

void Losses::set(const TensorInfo& tensor, std::size_t spec, const eval::Estimate& loss) {
    const std::size_t at = indexOf(tensor);
    of_[spec].mean[at] = loss.mean;
    if (loss.byChunk) of_[spec].error.set(at, *loss.byChunk);
}

void Losses::setReason(const TensorInfo& tensor, const std::string& reason) {
    const std::size_t at = indexOf(tensor);
    if (reasonOf_[at] == 0) reasonOf_.set(at, reasons_.idOf(reason));
}

void Losses::append(const Losses& more) {
    specs_.insert(specs_.end(), more.specs_.begin(), more.specs_.end());
    of_.insert(of_.end(), more.of_.begin(), more.of_.end());
    for (const TensorInfo& tensor : model_->tensors)
        if (const std::string& reason = more.reason(tensor); !reason.empty()) setReason(tensor, reason);
}

Losses lossesOf(std::shared_ptr<const Model> model, const std::vector<QuantSpec>& specs,
                std::span<const eval::SensitivityRow> rows, const Losses* nmse) {
    Losses out(model, specs);
    std::map<std::string, std::size_t> places;
    for (std::size_t s = 0; s < specs.size(); ++s) places.emplace(specText(specs[s]), s);
    for (const eval::SensitivityRow& row : rows) {
        const auto spec = places.find(row.spec);
        const TensorInfo* tensor = model->find(row.unit);
        if (spec == places.end() || !tensor) continue;
        const auto figure = row.rank();
        if (figure && std::isfinite(figure->mean))
            out.set(*tensor, spec->second, *figure);
        else
            out.setReason(*tensor, row.reason);
    }
    if (!nmse) return out;
    for (const eval::SensitivityRow& row : rows) {
        const TensorInfo* tensor = model->find(row.unit);
        if (!row.slope || !tensor) continue;
        for (std::size_t s = 0; s < specs.size(); ++s) {
            const auto at = nmse->find(specs[s]);
            const auto error = at ? nmse->of(*tensor, *at) : std::nullopt;
            if (!error || out.of(*tensor, s)) continue;
            eval::Estimate loss{row.slope->mean * error->mean, {}, {}};
            if (row.slope->byChunk) loss.byChunk = *row.slope->byChunk * error->mean;
            out.set(*tensor, s, loss);
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
