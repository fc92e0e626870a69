// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The reference in plain C++: it defines the correct result. Other kernel sets call these functions where they have no
// faster one, and for groups that contain NaN or Inf.

#include "kernels/kernel_set.h"

namespace qs::reference {

// Functions with the name of a KernelSet member have its meaning.
void f16ToF32(const std::uint16_t* in, std::size_t n, float* out);
void bf16ToF32(const std::uint16_t* in, std::size_t n, float* out);
void f32ToF16(const float* in, std::size_t n, std::uint16_t* out);
void f32ToBf16(const float* in, std::size_t n, std::uint16_t* out);

float absMax(const float* x, std::size_t n, bool finiteOnly);
double sumAbs(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count);
AboveSum sumAbsAbove(const float* x, std::size_t n, float threshold);
double sum(const float* x, std::size_t n, bool finiteOnly, std::uint64_t* count);
double sumSquaredDeviation(const float* x, std::size_t n, float mean, bool finiteOnly);
Moments moments(const float* x, std::size_t n);
void floatBins(const float* x, std::size_t n, std::uint32_t* bins);
void columnAbsMax(const float* x, std::size_t n, float* into);

/// The code of one value; -1 for encoders without codes.
int encode(const Run& run, const GroupParams& params, float x);
/// Quantizes and measures elements [begin, begin + n) of a run, which are the group with index `group`.
void quantizeGroup(const Run& run, const RunOut& out, const GroupParams& params, std::size_t begin, std::size_t n,
                   std::size_t group);
void quantize(const Run& run, const RunOut& out);
void dequantize(const std::uint8_t* codes, std::size_t n, std::size_t group, const float* scales, const float* levels,
                int levelCount, float* out);

void quantizeNf4Packed(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                       ErrorSums* sums);
void dequantizeNf4Packed(const std::uint8_t* packed, std::size_t n, std::size_t block, const float* absmax,
                         const float* levels, float* out);
void quantizeInt8Stored(const float* x, std::size_t n, std::size_t group, std::int8_t* q, float* scales);
void quantizeTernaryPacked(const float* x, std::size_t n, std::size_t group, std::uint8_t* packed, float* scales);

} // namespace qs::reference
