// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares the values of a tensor with those at a placement in another tensor.

#include "core/analysis/diff/diff.h"

namespace qs {

/// A tensor as a matrix: its rows are along the last axis. A vector is one column, so that biases are permuted and
/// split like their weights.
struct Matrix {
    std::int64_t rows = 0, columns = 0;
    explicit Matrix(const TensorInfo& tensor);
};

/// A tensor (part) and the tensor that contains it (whole), which has as many values or more.
struct Pairing {
    const Model *partModel, *wholeModel;
    const TensorInfo *part, *whole;
    bool partIsA = true; ///< the part is in model A
};

/// NMSE over a few rows under a placement. NaN if the placement does not fit the shapes or the tensors cannot be read.
double sampledNmse(const Pairing& pairing, const Placement& placement);
/// The placement with the least sampledNmse() among those that fit the shapes.
struct BestPlacement {
    Placement placement;
    double nmse = 0;
};
/// Which orders of rows are tried beside the plain one.
enum class RowOrders {
    None,
    Heads,    ///< within heads, and heads of q, k and v in turns
    GateAndUp ///< rows of a gate and an up in turns
};
/// Empty if no placement fits. `offset`: first row of the part in the fused tensor. `index`: number of the part among
/// `parts`.
std::optional<BestPlacement> bestPlacement(const Pairing& pairing, RowOrders orders, std::int64_t offset,
                                           std::int64_t index, std::int64_t parts);
/// Compares all values on all cores. Sets figures and status of `row`. Fails if the job is cancelled or a file changed.
Result<void> compareAll(const Pairing& pairing, const Placement& placement, const Job& job, DiffRow& row);

} // namespace qs
