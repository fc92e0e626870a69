// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One array of NumPy's .npy.

#include "core/value/tensor.h"

#include <span>
#include <string_view>

namespace qs::value {

/// Versions 1 to 3; <f2, <f4 and <f8 in C order. Every number in the header is a claim: sizes are checked against the bytes.
Result<Tensor> parseNpy(std::span<const std::byte> bytes);

} // namespace qs::value
