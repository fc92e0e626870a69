// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Random values from a seed. They are the same on every machine and for every number of threads.

#include <cstdint>

namespace qs {

/// 64 random bits: element `index` of a stream (splitmix64).
std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
/// Element `index` of a stream of approximately normal values with mean 0 and variance 1: the sum of twelve uniform
/// values.
float normalVariate(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

} // namespace qs
