// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A plain loop, to compare with what the compiler makes of it.

#include <cstddef>
#include <cstdint>

namespace qs::bench {

/// nf4 by 15 comparisons, with blocks of `block` values, first code in the high bits. The compiler vectorises this loop
/// at -O3.
void plainNf4(const float* x, std::size_t n, std::size_t block, const float* thresholds, std::uint8_t* packed,
              float* absmax);

} // namespace qs::bench
