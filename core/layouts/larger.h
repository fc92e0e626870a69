// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Specs that store more bits than the source has: scales of a few values each, or blocks that are mostly padding.

#include "core/quant/encode/quantizer.h"

namespace qs {

/// Bits per weight in the source, as it is stored there.
double sourceBits(const TensorInfo& tensor);
/// The spec that is nearest and stores fewer bits than the source has; none where no word of the grammar helps.
std::optional<QuantSpec> smallerSpec(const QuantSpec& spec, const TensorInfo& tensor);
/// "stores 18.6667 bits per weight, more than the 16.0000 of the source (F16): use int8:axis=out"; "" where it does not.
std::string largerText(const QuantSpec& spec, const TensorInfo& tensor, double bitsPerWeight);

} // namespace qs
