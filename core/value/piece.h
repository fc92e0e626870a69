// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A box of a quantized tensor with the codes and scales that belong to it: what a device holds of a sharded one.

#include "core/value/operand.h"

namespace qs::value {

/// Elements that share a scale along each axis; the axis's size where one scale serves it whole.
Shape scaleTile(const QuantSpec& spec, const ScaleGrid& grid, std::span<const std::int64_t> shape);

/// Elements [begin, begin + extent). Codes as they are; the scales that they use, one that more boxes use in each of
/// them. Fails where the box cuts a block: covering() names the smallest box around it that does not.
Result<QuantizedTensor> piece(const QuantizedTensor& tensor, const Shape& begin, const Shape& extent);
void covering(const Shape& tile, std::span<const std::int64_t> shape, Shape& begin, Shape& extent);

} // namespace qs::value
