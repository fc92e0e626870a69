// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A box of a quantized tensor with its codes and scales: what one device holds of a sharded tensor.

#include "core/value/operand.h"

namespace qs::value {

/// The number of elements that share a scale along each axis; the size of the axis if there is one scale along it.
Shape scaleTile(const QuantSpec& spec, const ScaleGrid& grid, std::span<const std::int64_t> shape);

/// The elements [begin, begin + extent): their codes, and copies of the scales that they use. Fails if the box cuts a
/// block; covering() gives the smallest box around it that cuts none.
Result<QuantizedTensor> piece(const QuantizedTensor& tensor, const Shape& begin, const Shape& extent);
void covering(const Shape& tile, std::span<const std::int64_t> shape, Shape& begin, Shape& extent);

} // namespace qs::value
