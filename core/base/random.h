// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Seeded values that are the same on every machine and for every number of threads.

#include <cstdint>

namespace qs {

std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
/// Element `index` of a stream of normal variates.
float normalVariate(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

} // namespace qs
