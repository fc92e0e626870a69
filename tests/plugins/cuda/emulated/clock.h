// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The clock of the emulated device, in nanoseconds. A microsecond passes with each read, so that no test waits for real
// time.

#include <cstdint>

namespace qs::cuda::emulated {

inline std::uint64_t clockNs = 0;

} // namespace qs::cuda::emulated
