// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the machine can do, measured beside the kernels, and what a compiler makes of a plain loop.

#include <cstddef>
#include <cstdint>

namespace qs::bench {

float readStream(const float* x, std::size_t n);
void writeStream(float* x, std::size_t n); ///< non-temporal where the processor has AVX-512
float fmaPeak(std::size_t steps, std::size_t* flops);

/// nf4 by 15 compares, blocks of `block`, high nibble first: the obvious loop, vectorised by the compiler at -O3.
void plainNf4(const float* x, std::size_t n, std::size_t block, const float* thresholds, std::uint8_t* packed,
              float* absmax);

} // namespace qs::bench
