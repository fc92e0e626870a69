// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The values of a tensor against those that lie at a placement in another one.

#include "core/analysis/diff/diff.h"

namespace qs {

/// Rows of the last axis; a vector is a column, so that biases are permuted and fused as their weights are.
struct Matrix {
    std::int64_t rows = 0, columns = 0;
    explicit Matrix(const TensorInfo& tensor);
};

/// A tensor, and the one that holds it: the same number of values, or more.
struct Pairing {
    const Model *partModel, *wholeModel;
    const TensorInfo *part, *whole;
    bool partIsA = true;
};

/// NMSE of a few rows under a placement that fits the shapes; NaN when nothing can be said.
double sampledNmse(const Pairing& pairing, const Placement& placement);
/// The placement under which they are most alike, of those that the shapes allow; none: no placement fits.
struct BestPlacement {
    Placement placement;
    double nmse = 0;
};
/// `attention`: rows may be permuted within heads. `offset`: of the
/// part; `index` of `parts`: its number among the parts of a fused tensor.
std::optional<BestPlacement> bestPlacement(const Pairing& pairing, bool attention, std::int64_t offset,
                                           std::int64_t index, std::int64_t parts);
/// Every value, on all cores; fills the figures and the status of the row.
Result<void> compareAll(const Pairing& pairing, const Placement& placement, const Job& job, DiffRow& row);

} // namespace qs
