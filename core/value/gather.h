// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// gather as XLA defines it: slices of an operand at places named by rows of integers.

#include "core/value/operand.h"

namespace qs::value {

struct GatherDimensions {
    std::vector<int> offset;        ///< axes of the result that run inside a slice
    std::vector<int> collapsed;     ///< axes of the operand with slices of size 1 that leave the result
    std::vector<int> startIndexMap; ///< axis of the operand that each number of a start names
};
/// `starts`: shape (..., numbers per start), whole numbers; places are moved inside the operand (mode "clip").
Result<Tensor> gather(const Operand& operand, const Shape& startsShape, std::span<const std::int64_t> starts,
                      const GatherDimensions& dimensions, const Shape& sliceSizes);
/// numpy.take: `indices` along an axis; one outside the axis is refused.
Result<Tensor> take(const Operand& operand, std::span<const std::int64_t> indices, int axis);

} // namespace qs::value
