// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// XLA's gather: takes slices of an operand at starts given by rows of integers.

#include "core/value/operand.h"

namespace qs::value {

struct GatherDimensions {
    std::vector<int> offset;        ///< axes of the result that are axes of a slice
    std::vector<int> collapsed;     ///< axes of the operand with slices of size 1 that the result does not have
    std::vector<int> startIndexMap; ///< for each number of a start, the axis of the operand that it indexes
};
/// `starts`: whole numbers of shape (..., numbers per start). Slices that would reach outside are moved inside (mode
/// "clip").
Result<Tensor> gather(const Operand& operand, const Shape& startsShape, std::span<const std::int64_t> starts,
                      const GatherDimensions& dimensions, const Shape& sliceSizes);
/// numpy.take: elements at `indices` along an axis; an index outside the axis is an Error.
Result<Tensor> take(const Operand& operand, std::span<const std::int64_t> indices, int axis);

} // namespace qs::value
