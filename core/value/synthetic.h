// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Seeded random activations and gradients, used when there are no calibration inputs.

#include "core/value/tensor.h"

namespace qs::value {

/// Activations [rows, columns] with the properties that make real ones hard to quantize: one channel in 64 (at least
/// one from 32 columns on) is ten times larger; eight factors common to all channels of a row make up three quarters of
/// the variance, so that channels correlate.
Tensor syntheticInputs(std::int64_t rows, std::int64_t columns, std::uint64_t seed);
/// Normal variates with a standard deviation of 1e-3. Rows differ in size by a factor of up to 16, as gradients of
/// tokens do.
Tensor syntheticGradients(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

} // namespace qs::value
