// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Loops that reach the hardware limits of one thread: memory bandwidth and peak arithmetic. Timing them gives the roofs
// that kernels are compared with. They use the widest instruction set that bestKernels() allows.

#include <cstddef>
#include <cstdint>

namespace qs {

/// Reads all bytes once and combines them. bytes is a multiple of 256; data is 64-byte aligned.
std::uint32_t readStream(const void* data, std::size_t bytes);
/// Writes all bytes once, with non-temporal stores where the processor has them.
void writeStream(void* data, std::size_t bytes);

enum class PeakKind { F32, Bf16, I8 };
/// Runs `steps` rounds of independent multiply-adds. Returns the number of operations; a multiply and an add count as
/// two. Returns 0 if the processor has no such instruction.
double runPeak(PeakKind kind, std::size_t steps);

} // namespace qs
