// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/calibration.h"

#include "core/analysis/input_errors.h"

#include <fmt/format.h>

namespace qs::python {
namespace {

constexpr const char* kSynthetic = "synthetic";

} // namespace

void Calibration::open() {
    if (!solver.empty()) settings_ = take(solve::parseSettings(solver));
    if (settings_ && !given())
        throw Fault(Error{fmt::format("Solver {} needs calibration inputs: give activations=FILE, or "
                                      "activations=\"synthetic\" to try it out.",
                                      settings_->solver),
                          {}});
    if (given() && activations != kSynthetic) file_ = OpenModel::open(activations)->opened();
}

void Calibration::fill(AnalysisPlan& plan, const Job& job) const {
    if (given()) plan.options.inputs = layerInputsFrom(file_);
    if (settings_) plan.options.solve = solvedFrom(file_, *settings_, job);
}

void Calibration::fill(QuantizeRequest& request, std::vector<solve::SolveRow>& rows, const Job& job) const {
    if (!settings_) return;
    if (!request.rules.empty())
        throw Fault(Error{"Rules are for specs alone: a solver takes one spec for all tensors.", {}});
    const solve::Solver& solver = *solve::findSolver(settings_->solver);
    take(solver.accepts(request.spec, *settings_));
    request.columnScales = solver.columnScales;
    request.solve = [this, &request, &rows, &job](const TensorView& view) {
        return solve::solveLayer(view, request.spec, *settings_, file_.get(), rows, job);
    };
}

void Calibration::addInputs(std::vector<std::string>& inputs) const {
    if (file_) python::addInputs(*file_, inputs);
}

std::vector<eval::ImportedColumn> importedFrom(const Imports& imports, const std::shared_ptr<const Model>& model) {
    std::vector<eval::ImportedColumn> out;
    for (const auto& [path, spec, floor] : imports) {
        auto columns = take(eval::importColumns(model, {path, spec, floor}));
        std::move(columns.begin(), columns.end(), std::back_inserter(out));
    }
    return out;
}

void addFiles(const Imports& imports, std::vector<std::string>& inputs) {
    for (const auto& one : imports) inputs.push_back(std::get<0>(one));
}

} // namespace qs::python
