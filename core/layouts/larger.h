// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds specs that store more bits than the source: they have a scale for every few values, or blocks that are mostly
// padding.

#include "core/quant/encode/quantizer.h"

namespace qs {

/// Stored bits per weight in the source.
double sourceBits(const TensorInfo& tensor);
/// The nearest spec that stores fewer bits than the source; none if there is no such spec.
std::optional<QuantSpec> smallerSpec(const QuantSpec& spec, const TensorInfo& tensor);
/// "stores 18.6667 bits per weight, more than the 16.0000 of the source (F16): use int8:axis=out"; "" where it does
/// not.
std::string largerText(const QuantSpec& spec, const TensorInfo& tensor, double bitsPerWeight);

} // namespace qs
