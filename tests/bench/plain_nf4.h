// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a compiler makes of a plain loop.

#include <cstddef>
#include <cstdint>

namespace qs::bench {

/// nf4 by 15 compares, blocks of `block`, high nibble first: the obvious loop, vectorised by the compiler at -O3.
void plainNf4(const float* x, std::size_t n, std::size_t block, const float* thresholds, std::uint8_t* packed,
              float* absmax);

} // namespace qs::bench
