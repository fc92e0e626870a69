// SPDX-License-Identifier: GPL-3.0-or-later
// analyze, sweep, audit, diff and inspect: as the commands of the same names.
#include "app/python/calibration.h"
#include "core/analysis/analysis_report.h"
#include "core/analysis/audit/audit_limits.h"
#include "core/analysis/diff/diff.h"
#include "core/analysis/proxy_trust.h"
#include "core/analysis/sweep/sweep.h"
#include "core/base/text.h"
#include "core/eval/trust/evidence_files.h"
#include "core/layouts/select.h"

#include <algorithm>
#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {

std::vector<QuantSpec> specsOf(const Texts& texts) {
    std::vector<QuantSpec> specs;
    for (const auto& text : texts) specs.push_back(take(parseSpec(text)));
    return specs;
}

void addInputs(const Model& model, std::vector<std::string>& inputs) {
    inputs.push_back(model.path);
    for (const ModelFile& file : model.files) inputs.push_back(file.path);
}

namespace {

DecodedAs decodedAs(const std::string& id) {
    for (const auto& choice : decodedAsChoices())
        if (id == choice.id) return choice.value;
    throw Fault(Error{fmt::format("decoded is f32 or source, not '{}'.", escapeForPeople(id, 40)), {}});
}

/// Null where there are no files.
std::shared_ptr<const OutputEffects> effectsIn(const Texts& files, const std::shared_ptr<const Model>& model) {
    if (files.empty()) return nullptr;
    auto effects = std::make_shared<OutputEffects>();
    for (const auto& file : files) take(eval::addEvidenceFile(model, file, *effects));
    return effects;
}

Rows analyze(const OpenModel& model, const Texts& specs, const Texts& filters, const std::string& decoded,
             Calibration calibration, const Texts& evidence, const std::string& call, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        AnalysisPlan plan;
        for (const auto& text : specs) {
            auto spec = take(parseSpec(text));
            const bool twice = std::ranges::any_of(plan.specs, [&](const auto& known) { return known.first == text; });
            if (!twice) plan.specs.emplace_back(text, std::move(spec));
        }
        if (plan.specs.empty()) throw Fault(Error{"analyze needs a spec, for instance nf4:block=64.", {}});
        plan.model = model.served(job);
        plan.tensors = take(selectAny(*plan.model, TensorChoice{filters}));
        plan.named = !filters.empty();
        plan.options.decodedAs = decodedAs(decoded);
        plan.options.effects = effectsIn(evidence, plan.model);
        calibration.open();
        calibration.fill(plan, job);
        const auto result = std::make_shared<const AnalysisResult>(take(analyse(plan, job)));
        const auto isMeasured = [](const AnalysisRow& row) { return row->status == Status::Ok; };
        if (!result->rows.empty() && std::ranges::none_of(result->rows, isMeasured)) {
            const TensorAnalysis& first = *result->rows.front();
            throw Fault(
                Error{fmt::format("{}: none of the {} rows could be measured; the first, {} as {}: {}",
                                  escapeForPeople(plan.model->path, 160), result->rows.size(),
                                  escapeForPeople(first.tensor), escapeForPeople(first.specAsTyped), first.reason),
                      plan.model->path});
        }
        Rows out = Rows::of(analysisColumns(), result->rows);
        out.summary = proxyRemark(nmseMetric(), result->rows, true);
        for (const std::string& remark : remarksOf(result->rows)) out.summary += "\n" + remark;
        out.add("totals", totalColumns(), totals(result->rows, plan.model.get()));
        out.report = [plan, result, calibration, call](const Job& at) mutable {
            calibration.fill(plan, at); // that of the call has ended
            return analysisReport(plan, *result, {}, call, at);
        };
        addInputs(*plan.model, out.inputs);
        calibration.addInputs(out.inputs);
        out.inputs.insert(out.inputs.end(), evidence.begin(), evidence.end());
        return out;
    });
}

Rows sweep(const OpenModel& model, Texts lines, std::vector<std::uint32_t> blocks, const Texts& filters,
           const std::string& decoded, const std::string& call, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        if (lines.empty())
            for (const auto& line : sweepLines())
                if (line.usual) lines.push_back(line.text);
        if (blocks.empty()) blocks.assign(usualSweepBlocks().begin(), usualSweepBlocks().end());
        SweepPlan plan;
        plan.specs = take(sweepSpecs(lines, blocks));
        plan.model = model.served(job);
        plan.tensors = take(selectAny(*plan.model, TensorChoice{filters}));
        plan.named = !filters.empty();
        plan.decodedAs = decodedAs(decoded);
        const auto result = std::make_shared<const SweepResult>(take(runSweep(plan, job)));
        const auto& points = result->points;
        if (std::ranges::none_of(points, [](const SweepPoint& p) { return p.complete(); }))
            throw Fault(Error{fmt::format("None of the {} points could be measured; the first, {} as {}: {}",
                                          points.size(), escapeForPeople(points.front().className),
                                          points.front().specText, points.front().reason),
                              plan.model->path});
        Rows out = Rows::of(sweepColumns(), points);
        out.summary = sweepRemark(*result);
        out.report = [plan, result, call](const Job& at) { return sweepReport(plan, *result, call, at); };
        addInputs(*plan.model, out.inputs);
        return out;
    });
}

Rows audit(const OpenModel& model, const Texts& failOn, const std::string& call, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        const auto opened = model.opened();
        const auto limits = take(parseLimits(failOn, auditLimits()));
        const auto result = std::make_shared<const AuditResult>(take(auditModel(opened, job)));
        if (const auto broken = brokenLimit(*result, limits); !broken.empty())
            throw Fault(Error{fmt::format("{}: {}.", escapeForPeople(opened->path, 160), broken), opened->path});
        Rows out = Rows::of(findingColumns(), result->findings);
        out.summary = findingsText(result->findings);
        out.add("checks", outcomeColumns(), checkOutcomes(*result));
        out.report = [opened, result, call](const Job& at) { return auditReport(*opened, *result, call, at); };
        addInputs(*opened, out.inputs);
        return out;
    });
}

Rows diff(const OpenModel& a, const OpenModel& b, const Texts& filters, bool changed, const std::string& call,
          const py::object& progress) {
    return run(progress, [&](const Job& job) {
        const DiffPlan plan = diffPlan(a.served(job), b.served(job), joinedFilters(filters));
        DiffResult found = take(diffModels(plan, job));
        if (changed) keepChanged(found);
        const auto result = std::make_shared<const DiffResult>(std::move(found));
        Rows out = Rows::of(diffColumns(), result->rows);
        out.summary = diffText(*result);
        out.report = [plan, result, call](const Job& at) { return diffReport(plan, *result, call, at); };
        addInputs(*plan.a, out.inputs), addInputs(*plan.b, out.inputs);
        return out;
    });
}

Rows inspect(const OpenModel& model) {
    std::vector<InspectRow> rows;
    for (const TensorInfo& info : model.opened()->tensors) rows.push_back({info, model.opened()->path, {}, {}});
    Rows out = Rows::of(inspectColumns(false), rows);
    addInputs(*model.opened(), out.inputs);
    return out;
}

} // namespace

void bindAnalysis(py::module_& module) {
    py::class_<Calibration>(module, "Calibration").def(py::init([](std::string activations, std::string solver) {
        Calibration out;
        out.activations = std::move(activations), out.solver = std::move(solver);
        return out;
    }));
    module.def("analyze", &analyze);
    module.def("sweep", &sweep);
    module.def("audit", &audit);
    module.def("diff", &diff);
    module.def("inspect", &inspect);
}

} // namespace qs::python
