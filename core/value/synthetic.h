// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Seeded stand-ins for activations and gradients where no calibration inputs are given.

#include "core/value/tensor.h"

namespace qs::value {

/// [rows, columns] with what makes activations hard: one channel in 64 (at least one from 32 on) is ten times larger, and
/// eight factors that all channels of a row share make up three quarters of the variance, so that channels correlate.
Tensor syntheticInputs(std::int64_t rows, std::int64_t columns, std::uint64_t seed);
/// Normal variates of standard deviation 1e-3 whose rows differ in size by up to a factor of 16, as tokens' gradients do.
Tensor syntheticGradients(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

} // namespace qs::value
