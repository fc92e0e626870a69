// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A solution as a row of tables.

#include "core/base/column.h"
#include "core/solve/solver.h"

namespace qs::solve {

struct SolveRow {
    std::string tensor, spec, solver;
    std::string inputs; ///< "synthetic, 512 x 2048", or the file's name and size
    std::optional<double> nearestOutput, output, nearestWeight, weightNmse;
    double seconds = 0;
    std::string remark;
};
SolveRow solveRowOf(const Problem& problem, const Solution& solution, std::string inputs);
const Columns<SolveRow>& solveColumns();

/// Solves a layer on its inputs in `file`, or on synthetic inputs without a file, and adds its row.
Result<std::shared_ptr<const Solved>> solveLayer(const TensorView& view, const QuantSpec& spec,
                                                 const Settings& settings, const Model* file,
                                                 std::vector<SolveRow>& rows, const Job& job);

} // namespace qs::solve
