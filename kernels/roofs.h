// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What one thread of this processor can do at most, as loops to be timed: the ceilings that kernels are held against.
// They use the widest set that bestKernels() allows.

#include <cstddef>
#include <cstdint>

namespace qs {

std::uint32_t readStream(const void* data, std::size_t bytes); ///< bytes a multiple of 256, 64-byte aligned
void writeStream(void* data, std::size_t bytes);               ///< non-temporal where there is such a store

enum class PeakKind { F32, Bf16, I8 };
/// Runs `steps` rounds of independent multiply-adds; operations done (a multiply and an add count two), 0 when the
/// processor has no such instruction.
double runPeak(PeakKind kind, std::size_t steps);

} // namespace qs
