// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/solve/row.h"

#include <cmath>

namespace qs::solve {
namespace {

Value number(const std::optional<double>& value) { return value ? Value(*value) : Value(); }
Value decibels(const std::optional<double>& nmse) { return number(sqnrDb(nmse)); }

Columns<SolveRow> made() {
    using Row = SolveRow;
    Columns<Row> list;
    const auto text = [&](const char* id, const char* title, auto value) {
        list.push_back({{id, title, "", Show::Text, 0, Direction::None, ""}, value});
    };
    const auto sqnr = [&](const char* id, const char* title, const char* tip, auto value) {
        list.push_back({{id, title, "dB", Show::Fixed, 2, Direction::HigherIsBetter, tip}, value});
    };
    const auto nmse = [&](const char* id, const char* title, const char* tip, auto value) {
        list.push_back({{id, title, "", Show::Scientific, 4, Direction::LowerIsBetter, tip}, value});
    };
    text("tensor", "Tensor", [](const Row& r) { return Value(escapeForPeople(r.tensor, 500)); });
    list.back().show = Show::Name;
    text("spec", "Spec", [](const Row& r) { return Value(r.spec); });
    text("solver", "Solver", [](const Row& r) { return Value(r.solver); });
    text("inputs", "Inputs", [](const Row& r) { return Value(r.inputs); });
    sqnr("nearest_output_db", "Output, nearest", "output SQNR of rounding to nearest",
         [](const Row& r) { return decibels(r.nearestOutput); });
    sqnr("output_db", "Output, solved", "output SQNR of the solution", [](const Row& r) { return decibels(r.output); });
    nmse("nearest_output_nmse", "Output NMSE, nearest", "||X (V - W)^T||^2 / ||X W^T||^2",
         [](const Row& r) { return number(r.nearestOutput); });
    nmse("output_nmse", "Output NMSE, solved", "||X (V - W)^T||^2 / ||X W^T||^2",
         [](const Row& r) { return number(r.output); });
    nmse("nearest_nmse", "Weight NMSE, nearest", "||V - W||^2 / ||W||^2",
         [](const Row& r) { return number(r.nearestWeight); });
    nmse("nmse", "Weight NMSE, solved", "||V - W||^2 / ||W||^2", [](const Row& r) { return number(r.weightNmse); });
    list.push_back({{"seconds", "Seconds", "s", Show::Fixed, 2, Direction::None, "of the solver"},
                    [](const Row& r) { return Value(r.seconds); }});
    text("remark", "Remark", [](const Row& r) { return Value(r.remark); });
    return list;
}

} // namespace

SolveRow rowOf(const Problem& problem, const Solution& solution, std::string inputs) {
    return {problem.weight.info->name, specText(problem.spec), canonicalText(problem.settings), std::move(inputs),
            solution.nearestOutput,    solution.output,        solution.nearestWeight,          solution.weightNmse,
            solution.seconds,          solution.remark};
}

const Columns<SolveRow>& solveColumns() {
    static const Columns<SolveRow> columns = made();
    return columns;
}

} // namespace qs::solve
