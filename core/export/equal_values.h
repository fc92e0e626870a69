// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares two streams of values bit for bit. Zeros may differ in their sign.

#include "core/model/dtype.h"

#include <cstddef>

namespace qs {

/// Number of equal values before the first one that differs, at most `n`. For other types than F16, BF16, F32 and F64
/// it compares the bytes of elements.
std::size_t equalValues(DType dtype, const std::byte* a, const std::byte* b, std::size_t n);

} // namespace qs
