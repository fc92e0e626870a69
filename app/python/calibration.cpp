// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/calibration.h"

#include "core/analysis/input_errors.h"
#include "core/base/text.h"
#include "core/solve/inputs.h"

#include <fmt/format.h>
#include <limits>

namespace qs::python {
namespace {

constexpr const char* kSynthetic = "synthetic";
constexpr std::int64_t kSyntheticRows = 512;

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
    if (given())
        plan.options.inputs = [file = file_](const TensorInfo& layer) { return layerInputs(file.get(), layer); };
    if (!settings_) return;
    plan.options.solve = [settings = *settings_, file = file_, &job](
                             const TensorView& view, const QuantSpec& spec) -> Result<std::shared_ptr<const Solved>> {
        const auto inputs = layerInputs(file.get(), *view.info);
        if (!inputs) return tl::unexpected(inputs.error());
        if (!*inputs || !(*inputs)->rows)
            return fail(fmt::format("the activations hold no inputs [..., K] for tensor '{}', which solver {} needs",
                                    escapeForPeople(view.info->name, 80), settings.solver));
        auto solution = solve::solve({view, spec, settings, *(*inputs)->rows}, job);
        if (!solution) return tl::unexpected(solution.error());
        return solution->solved;
    };
}

void Calibration::fill(QuantizeRequest& request, std::vector<solve::SolveRow>& rows, const Job& job) const {
    if (!settings_) return;
    if (!request.rules.empty())
        throw Fault(Error{"Rules are for specs alone: a solver takes one spec for all tensors.", {}});
    const solve::Solver& solver = *solve::findSolver(settings_->solver);
    take(solver.accepts(request.spec, *settings_));
    request.columnScales = solver.columnScales;
    request.solve = [this, &request, &rows, &solver,
                     &job](const TensorView& view) -> Result<std::shared_ptr<const Solved>> {
        const auto most = file_ ? std::numeric_limits<std::int64_t>::max() : kSyntheticRows;
        auto inputs = solve::inputsOf(file_.get(), *view.info, most, solver.needsRows);
        if (!inputs) return tl::unexpected(inputs.error());
        const solve::Problem problem{view, request.spec, *settings_, *inputs};
        auto solution = solve::solve(problem, job);
        if (!solution) return tl::unexpected(solution.error());
        rows.push_back(solve::rowOf(
            problem, *solution,
            fmt::format("{}, {}", file_ ? file_->title : std::string("synthetic inputs"), shapeTimes(inputs->shape))));
        return solution->solved;
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
