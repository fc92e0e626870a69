// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The values of a tensor of any float type, exact in f32 (F64: rounded once).

#include "core/model/model.h"

#include <cstddef>
#include <cstdint>

namespace qs {

/// True for types that loadFloats() reads: F64, F32, F16, BF16, floats of 8 bits, and packed types that are decoded.
bool hasFloats(const TensorInfo& tensor);
/// Converts elements [begin, begin + n) of such a tensor to f32.
void loadFloats(const TensorView& view, std::uint64_t begin, std::size_t n, float* out);

} // namespace qs
