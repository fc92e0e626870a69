// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/sensitivity_run.h"

#include "core/base/cache_folder.h"
#include "core/base/text.h"
#include "core/eval/run/self_noise.h"
#include "core/eval/sensitivity/noise.h"
#include "core/layouts/taken_tensors.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// Applies a change only to the matrices of some units.
WeightChange within(WeightChange change, std::set<const TensorInfo*> tensors) {
    change.touches = [tensors = std::move(tensors)](const TensorInfo& tensor) { return tensors.contains(&tensor); };
    return change;
}

} // namespace

std::string defaultSensitivityCache() {
    const std::string folder = cacheFolder();
    return folder.empty() ? folder : folder + "/sensitivity";
}

Result<std::unique_ptr<SensitivityRun>> SensitivityRun::of(std::shared_ptr<const Model> model,
                                                           const SensitivityPlan& plan, const Job& job) {
    std::unique_ptr<SensitivityRun> out(new SensitivityRun(model, plan));
    if (auto read = out->readNetwork(); !read) return tl::unexpected(read.error());
    for (const QuantSpec& spec : plan.specs) {
        auto scope = scopeOfSpec(*model, plan.scope, spec);
        if (!scope && plan.specs.size() > 1) return failAt(specText(spec), scope.error());
        if (!scope) return tl::unexpected(scope.error());
        out->scopes_.push_back(std::move(*scope));
    }
    for (std::size_t s = 0; s < plan.specs.size(); ++s)
        if (!out->scopes_[s].refusal.empty())
            out->result_.refusals.push_back(fmt::format("{}: {}.", specText(plan.specs[s]), out->scopes_[s].refusal));
    if (plan.specs.empty()) out->scopes_.push_back(plan.scope);
    std::vector<LayerMatrix> matrices;
    const NetworkWeights& weights = out->weights();
    for (const auto& list : {weights.outside(), weights.matrices(), weights.routers()})
        for (const LayerMatrix& matrix : list)
            if (std::ranges::any_of(out->scopes_, [&](const SpecScope& one) { return one.covers(*matrix.tensor); }))
                matrices.push_back(matrix);
    out->units_ = unitsOf(matrices, *plan.by);
    if (out->units_.empty())
        return fail(fmt::format("No matrix of the network of {} is selected; --tensor must match one.",
                                escapeForPeople(model->title, 100)),
                    model->path);
    if (plan.how->needsSpecs && plan.specs.empty())
        return fail(fmt::format("\"{}\" measures specs: name one with --spec.", plan.how->id));
    if (auto ready = out->prepare(job); !ready) return tl::unexpected(ready.error());
    out->result_.tokens = out->scored().inputs, out->result_.chunks = out->scored().chunks;
    return out;
}

SensitivityRow SensitivityRun::rowOf(const Unit& unit, const QuantSpec* spec) const {
    SensitivityRow row;
    row.unit = unit.name, row.isTensor = unit.matrices.size() == 1 && unit.matrices.front().tensor->name == unit.name;
    for (const LayerMatrix& matrix : unit.matrices) row.tensors.push_back(matrix.tensor->name);
    row.layer = unit.layer, row.role = unit.role, row.how = plan().how->id;
    if (!spec) return row;
    row.spec = specText(*spec);
    if (row.isKept = !whyKept(unit, *spec).empty(); row.isKept) return row;
    row.size.emplace();
    const SpecScope& scope = scopeOf(*spec);
    for (const LayerMatrix& matrix : unit.matrices) {
        if (!scope.covers(*matrix.tensor)) continue;
        const auto bytes = bytesUnder(model(), *matrix.tensor, *spec, scope.layout, Job());
        ++row.size->matrices, row.size->elements += matrix.tensor->elements;
        row.size->bytes += bytes.value_or(0);
        if (!bytes) {
            row.size.reset();
            break;
        }
    }
    return row;
}

const SpecScope& SensitivityRun::scopeOf(const QuantSpec& spec) const {
    return scopes_[std::size_t(std::ranges::find(plan().specs, spec) - plan().specs.begin())];
}

std::string SensitivityRun::whyKept(const Unit& unit, const QuantSpec& spec) const {
    const SpecScope& scope = scopeOf(spec);
    for (const LayerMatrix& matrix : unit.matrices)
        if (scope.covers(*matrix.tensor)) return {};
    const Layout* layout = plan().scope.layout ? plan().scope.layout : followedLayout(model(), spec);
    return qs::whyKept(layout, model(), *unit.matrices.front().tensor, scope.named);
}

void SensitivityRun::put(std::size_t unit, std::size_t spec, SensitivityRow row) {
    if (plan().arrived) plan().arrived(row);
    rows_[{unit, spec}] = std::move(row);
}

Sensitivity SensitivityRun::result() const {
    Sensitivity out = result_;
    out.runs = runs(), out.keptRuns = keptRuns(), out.endedRuns = endedRuns();
    for (const auto& [place, row] : rows_) out.rows.push_back(row);
    return out;
}

namespace {

Result<std::optional<double>> nmseIn(const Model& model, const Unit& unit, const QuantSpec& spec,
                                     const SpecScope& scope, const Job& job) {
    double error = 0, power = 0;
    for (const LayerMatrix& matrix : unit.matrices) {
        if (!scope.covers(*matrix.tensor)) continue;
        const auto view = model.view(*matrix.tensor);
        if (!view) return tl::unexpected(view.error());
        const auto sums = squaredError(*matrix.tensor, *view, quantizedAs(spec, {.layout = scope.layout}), job);
        if (!sums) return tl::unexpected(sums.error());
        error += sums->error, power += sums->power;
    }
    return power > 0 ? std::optional(error / power) : std::nullopt;
}

/// An NMSE in the records, or the refusal.
struct NmseRecord {
    std::optional<double> value;
    std::string refusal;
};

template<class Archive, archive::Of<NmseRecord> T> void fieldsOf(Archive& archive, T& record) {
    archive(record.value, record.refusal);
}

} // namespace

Result<std::optional<double>> SensitivityRun::nmseOf(const Unit& unit, const QuantSpec& spec, const Job& job) {
    UnitRun* units = plan().units;
    if (std::string why = whyKept(unit, spec); !why.empty()) return fail(std::move(why));
    if (!units) return nmseIn(model(), unit, spec, scopeOf(spec), job);
    const Branch branch = quantized(unit, spec);
    const std::string key = known().unitKey("nmse " + branch.key);
    auto record = units->find<NmseRecord>(key, [](const NmseRecord& one) { return !(one.value.value_or(0) < 0); });
    if (!record && units->isMerge()) {
        units->leaveOut("the NMSE of " + branch.name);
        return std::nullopt;
    }
    if (!record) {
        const auto value = nmseIn(model(), unit, spec, scopeOf(spec), job);
        if (!value && value.error().cancelled) return value;
        record = value ? NmseRecord{*value, {}} : NmseRecord{{}, value.error().sentence()};
        if (auto kept = units->keep(key, *record); !kept) return tl::unexpected(kept.error());
    }
    if (!record->refusal.empty()) return fail(record->refusal);
    return record->value;
}

Branch SensitivityRun::withOutside(Branch branch, const Unit& unit) const {
    branch.hasEmbedding = unit.hasEmbedding();
    if (branch.hasEmbedding && !network().isEncoder && weights().isTied()) branch.layers.insert(weights().layers());
    return branch;
}

Branch SensitivityRun::quantized(const Unit& unit, const QuantSpec& spec) const {
    const SpecScope& scope = scopeOf(spec);
    WeightChange change = quantizedAs(spec, {.layout = scope.layout, .asStored = true}); // as eval takes them
    std::string key = "quantized " + change.detail, name = escapeForPeople(unit.name, 60) + " under " + change.name;
    std::set<const TensorInfo*> tensors;
    for (const LayerMatrix& matrix : unit.matrices) {
        if (!scope.covers(*matrix.tensor)) continue;
        tensors.insert(matrix.tensor);
        key += "\n" + matrix.tensor->name;
    }
    Branch branch{within(std::move(change), std::move(tensors)), unit.layers(), std::move(key), std::move(name)};
    branch.kept = whyKept(unit, spec);
    return withOutside(std::move(branch), unit);
}

Result<SensitivityRun::AllAtOnce> SensitivityRun::allAtOnce(bool floor, const Job& job) {
    Unit all{"all matrices", {}, -1, {}};
    for (const Unit& unit : units_) all.matrices.insert(all.matrices.end(), unit.matrices.begin(), unit.matrices.end());
    std::vector<Branch> branches;
    for (const QuantSpec& spec : plan().specs) branches.push_back(quantized(all, spec));
    const std::size_t specs = branches.size();
    if (floor) {
        branches.push_back({inAnotherOrder(), {}, "floor", "the noise floor"});
        for (std::size_t layer = 0; layer < network().layers.size(); ++layer) branches.back().layers.insert(layer);
    }
    AllAtOnce out;
    out.of.resize(specs);
    const auto keep = [&](std::size_t i, const BranchResult& result) -> Result<void> {
        if (i < specs) {
            out.of[i] = result;
            return {};
        }
        if (!result.reason.empty()) return fail(result.reason);
        const auto mean = divergenceOf(result.scores);
        out.floor = mean ? std::max(0.0, mean->mean) : 0;
        return {};
    };
    if (auto done = score(nullptr, std::move(branches), keep, job); !done) return tl::unexpected(done.error());
    return out;
}

} // namespace qs::eval
