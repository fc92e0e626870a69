// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analyse_tensor.h"
#include "core/analysis/analysis_unit.h"
#include "core/base/text.h"
#include "core/layouts/taken_tensors.h"
#include "core/quant/encode/pass.h"

#include <chrono>
#include <functional>

namespace qs {

std::span<const DecodedAsTraits> decodedAsChoices() {
    static constexpr DecodedAsTraits choices[] = {
        {DecodedAs::F32, "f32", "the f32 values that codes decode to"},
        {DecodedAs::Source, "source", "those values as a file of the source's type holds them"}};
    return choices;
}

namespace {

const Distribution& noDistribution() {
    static const Distribution none;
    return none;
}
const Inspection& noInspection() {
    static const Inspection none;
    return none;
}

} // namespace

const FloatHistogram& TensorAnalysis::errors() const { return (distribution ? *distribution : noDistribution()).error; }
const FloatHistogram& TensorAnalysis::values() const { return (distribution ? *distribution : noDistribution()).value; }
const BlockMap& TensorAnalysis::blockMap() const { return (inspection ? *inspection : noInspection()).blockMap; }
const ChannelProfile& TensorAnalysis::channels() const { return (inspection ? *inspection : noInspection()).channels; }
const ChannelProfile& TensorAnalysis::columns() const { return (inspection ? *inspection : noInspection()).columns; }

AnalysisRow figuresOf(const TensorAnalysis& row) {
    auto figures = std::make_shared<TensorAnalysis>(row);
    figures->distribution.reset();
    return figures;
}

AnalysisRow withEffect(const AnalysisRow& row, const OutputEffects* effects) {
    auto known = effects && row ? effects->of(row->tensor, row->spec) : nullptr;
    if (!row || (!known && !row->onOutput)) return row;
    auto out = std::make_shared<TensorAnalysis>(*row);
    out->onOutput = std::move(known);
    return out;
}

double weightOf(const AnalysisPlan& plan) {
    double bytes = 0;
    for (const TensorInfo* tensor : plan.tensors) bytes += double(tensor->bytes) * double(plan.specs.size());
    return bytes;
}

Result<AnalysisResult> analyse(const AnalysisPlan& plan, const Job& job,
                               const std::function<void(AnalysisRow)>& onRow) {
    const auto started = std::chrono::steady_clock::now();
    AnalysisResult result;
    std::vector<std::shared_ptr<Distribution>> pooled;
    std::vector<StoredIn> layouts = plan.stored;
    for (const auto& [asTyped, spec] : plan.specs) {
        pooled.push_back(std::make_shared<Distribution>());
        if (plan.stored.empty())
            layouts.push_back(plan.layout ? StoredIn{plan.layout}
                                          : storedIn(*plan.model, plan.tensors, spec, plan.named));
    }
    Progress progress;
    progress.itemsTotal = plan.tensors.size() * plan.specs.size();
    progress.total = weightOf(plan);

    for (const TensorInfo* tensor : plan.tensors) {
        progress.what = "Analysing " + escapeForPeople(tensor->name);
        const double elementBytes = tensor->elements ? double(tensor->bytes) / double(tensor->elements) : 0;
        std::optional<TensorStatistics> statistics;
        for (std::size_t at = 0; at < plan.specs.size(); ++at) {
            const auto& [asTyped, spec] = plan.specs[at];
            if (job.cancelled()) return cancelledError();
            job.progress(progress);
            ScanProgress scan{job, progress, elementBytes};
            // The statistics do not depend on the spec: one of a tensor's passes gathers them.
            AnalysisOptions options = plan.options;
            options.statistics = options.statistics && !statistics;
            if (at < plan.codebooks.size())
                if (const auto shared = plan.codebooks[at].find(tensor); shared != plan.codebooks[at].end())
                    options.levels = shared->second;
            Result<std::optional<TensorAnalysis>> unit =
                keptRow(layouts[at].layout, *plan.model, *tensor, spec, plan.named);
            if (!*unit)
                unit = unitOfAnalysis(plan.units, *plan.model, *tensor, spec, options.effects.get(), job, [&] {
                    auto row = analyseTensor(*plan.model, *tensor, spec, options, job, std::ref(scan));
                    if (row && !row->statistics && plan.options.statistics) row->statistics = statistics;
                    return row;
                });
            if (!unit) return tl::unexpected(unit.error());
            progress.done += double(tensor->bytes);
            ++progress.items;
            if (!*unit) continue;
            TensorAnalysis& row = **unit;
            if (auto stored = storeIn(layouts[at], *plan.model, *tensor, row, job); !stored)
                return tl::unexpected(stored.error());
            if (row.statistics) statistics = row.statistics;
            row.specAsTyped = asTyped;
            result.sourceBytes += scan.bytes();
            if (row.status == Status::Ok && row.distribution) pooled[at]->merge(*row.distribution);
            if (plan.keepRows) result.rows.push_back(figuresOf(row));
            if (onRow) onRow(std::make_shared<const TensorAnalysis>(std::move(row)));
        }
        releasePages(*plan.model, *tensor);
    }
    job.progress(progress);
    result.pooled.assign(pooled.begin(), pooled.end());
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
}

} // namespace qs
