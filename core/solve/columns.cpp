// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/cell.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/solve/inputs.h"
#include "core/solve/row.h"

#include <fmt/format.h>

namespace qs::solve {
namespace {

Value decibels(const std::optional<double>& nmse) { return cellOf(sqnrDb(nmse)); }

} // namespace

SolveRow solveRowOf(const Problem& problem, const Solution& solution, std::string inputs) {
    return {problem.weight.info->name, specText(problem.spec), canonicalText(problem.settings), std::move(inputs),
            solution.nearestOutput,    solution.output,        solution.nearestWeight,          solution.weightNmse,
            solution.seconds,          solution.remark};
}

Result<std::shared_ptr<const Solved>> solveLayer(const TensorView& view, const QuantSpec& spec,
                                                 const Settings& settings, const Model* file,
                                                 std::vector<SolveRow>& rows, const Job& job) {
    const auto inputs = inputsOf(file, *view.info, findSolver(settings.solver)->needsRows);
    if (!inputs) return tl::unexpected(inputs.error());
    const Problem problem{view, spec, settings, *inputs};
    auto solution = solve(problem, job);
    if (!solution) return tl::unexpected(solution.error());
    const std::string source = file ? escapeForPeople(file->title, 60) : std::string("synthetic inputs");
    rows.push_back(solveRowOf(problem, *solution, fmt::format("{}, {}", source, shapeTimes(inputs->shape))));
    return solution->solved;
}

const Columns<SolveRow>& solveColumns() {
    using R = SolveRow;
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter, higher = Direction::HigherIsBetter;
    static const Columns<R> columns = {
        columnOf<R>({"tensor", "Tensor", "", Show::Name, 0, none, ""},
                    [](const R& r) { return escapeForPeople(r.tensor, 500); }),
        columnOf<R>({"spec", "Spec", "", Show::Text, 0, none, ""}, &R::spec),
        columnOf<R>({"solver", "Solver", "", Show::Text, 0, none, ""}, &R::solver),
        columnOf<R>({"inputs", "Inputs", "", Show::Text, 0, none, ""}, &R::inputs),
        columnOf<R>({"nearest_output_db", "Output, nearest", "dB", Show::Fixed, 2, higher,
                     "output SQNR of rounding to nearest"},
                    [](const R& r) { return decibels(r.nearestOutput); }),
        columnOf<R>({"output_db", "Output, solved", "dB", Show::Fixed, 2, higher, "output SQNR of the solution"},
                    [](const R& r) { return decibels(r.output); }),
        columnOf<R>({"nearest_output_nmse", "Output NMSE, nearest", "", Show::Scientific, 4, lower,
                     "||X (V - W)^T||^2 / ||X W^T||^2"},
                    &R::nearestOutput),
        columnOf<R>(
            {"output_nmse", "Output NMSE, solved", "", Show::Scientific, 4, lower, "||X (V - W)^T||^2 / ||X W^T||^2"},
            &R::output),
        columnOf<R>({"nearest_nmse", "Weight NMSE, nearest", "", Show::Scientific, 4, lower, "||V - W||^2 / ||W||^2"},
                    &R::nearestWeight),
        columnOf<R>({"nmse", "Weight NMSE, solved", "", Show::Scientific, 4, lower, "||V - W||^2 / ||W||^2"},
                    &R::weightNmse),
        columnOf<R>({"seconds", "Seconds", "s", Show::Fixed, 2, none, "of the solver"}, &R::seconds),
        columnOf<R>({"remark", "Remark", "", Show::Text, 0, none, ""}, &R::remark),
    };
    return columns;
}

} // namespace qs::solve
