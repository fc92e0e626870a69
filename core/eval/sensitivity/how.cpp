// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/how.h"

#include "core/base/rows.h"
#include "core/eval/sensitivity/measures.h"
#include "core/eval/sensitivity/noise.h"
#include "core/eval/sensitivity/sensitivity_run.h"

#include <iterator>

namespace qs::eval {
namespace {

constexpr SensitivityHow kHows[] = {
    {"alone", "Alone", "Only this unit is quantized, all else is as it is stored: what quantizing it costs.",
     "KL alone, nats", true, true, true, false, std::nullopt, measureAlone},
    {"spared", "Spared", "All but this unit are quantized: what keeping it saves.", "KL saved, nats", true, false,
     false, false, std::nullopt, measureSpared},
    {"slope", "Slope", "Noise of two known sizes in this unit: KL a unit of relative squared error, for any spec.",
     "predicted KL, nats", false, true, true, false, kNoiseSeed, measureSlope},
    {"output", "Layer output", "The error of the layer's own output on the inputs that the text gives it.",
     "layer output NMSE", true, false, true, true, std::nullopt, measureOutput}};

} // namespace

std::span<const SensitivityHow> sensitivityHows() { return kHows; }

const SensitivityHow* findSensitivityHow(std::string_view id) { return rowOf(kHows, id); }

Result<Sensitivity> sensitivity(std::shared_ptr<const Model> model, const SensitivityPlan& plan, const Job& job) {
    auto run = SensitivityRun::of(std::move(model), plan, job);
    if (!run) return tl::unexpected(run.error());
    if (auto done = plan.how->measure(**run, job); !done) return tl::unexpected(done.error());
    Sensitivity out = (*run)->result();
    out.hows = {plan.how};
    for (const Unit& unit : (*run)->units()) {
        auto inLayers = unit.matrices;
        std::erase_if(inLayers, [](const LayerMatrix& matrix) { return matrix.isOutside(); });
        out.matrices += inLayers.size(), out.quantizedMatrices += quantizedOf(inLayers);
    }
    return out;
}

std::vector<SensitivityRow> Sensitivity::rowsOf(const SensitivityHow& how) const {
    std::vector<SensitivityRow> out;
    for (const SensitivityRow& row : rows)
        if (row.how == how.id) out.push_back(row);
    return out;
}

void Sensitivity::add(Sensitivity other) {
    matrices = other.matrices, quantizedMatrices = other.quantizedMatrices;
    refusals = std::move(other.refusals); // of the same specs
    tokens = other.tokens, chunks = other.chunks, runs += other.runs, keptRuns += other.keptRuns;
    endedRuns += other.endedRuns;
    std::move(other.rows.begin(), other.rows.end(), std::back_inserter(rows));
    std::move(other.additivity.begin(), other.additivity.end(), std::back_inserter(additivity));
    hows.insert(hows.end(), other.hows.begin(), other.hows.end());
}

} // namespace qs::eval
