// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads one array in NumPy's .npy format.

#include "core/value/tensor.h"

#include <span>
#include <string_view>

namespace qs::value {

/// Versions 1 to 3; <f2, <f4 and <f8 in C order. Sizes in the header are checked against the number of bytes.
Result<Tensor> parseNpy(std::span<const std::byte> bytes);

} // namespace qs::value
