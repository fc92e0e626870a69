// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Two streams of values are the same bit for bit, but for the sign of zeros.

#include "core/model/dtype.h"

#include <cstddef>

namespace qs {

/// How many of the first `n` values are equal before one differs. Of other types than F16, BF16, F32 and F64 bytes of
/// elements are compared.
std::size_t equalValues(DType dtype, const std::byte* a, const std::byte* b, std::size_t n);

} // namespace qs
