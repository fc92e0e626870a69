// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tests whether values lie at equal steps: v = offset + k * step, with integers k. Dequantized integers do so, with or
// without a zero point.
//
// The statistic is the periodogram of the d distinct values v_1 ... v_d: C(s) = |sum exp(2 pi i v / s)|^2 / d. It does
// not depend on the offset. Distinct values are used, so that clipped or pruned values have no weight. If all values
// lie on steps of s, C is d, reduced by the rounding to the element type. If the density is smooth and much wider than
// s, the phases are uniform. C is then exponentially distributed with mean 1 (Rayleigh test; Scargle, ApJ 263, 1982).
// The largest of m independent values of C exceeds t by chance with a probability of at most m exp(-t). Steps from 1/8
// to 1/255.5 of the range are tried, which is 248 independent ones.
//
// Floats have steps of their own: in BF16 near v they are at most |v| / 128. So only values up to 64 s are used, where
// these steps are at most s / 2. Otherwise every float tensor would look quantized. The same limit is used for F32,
// which may hold BF16 values. Steps below 2^-22 are tried only for BF16, because small F16 values have such steps.

#include "core/model/dtype.h"

#include <optional>
#include <span>

namespace qs {

/// ln(248 / 0.001): by chance, one group in a thousand reaches it with one of the 248 steps.
inline constexpr double kLatticeThreshold = 12.4;
/// Least value of C / d. Rounding to BF16 leaves 0.87.
inline constexpr double kLatticeCoherence = 0.7;

/// Equal steps that were found.
struct Lattice {
    double step = 0; ///< distance between neighbouring levels
    int steps = 0;   ///< number of steps from the least to the largest value
};
/// Finds the widest step such that all values near 0 lie on it, within their rounding. `distinct`: the distinct values
/// of one group with a common scale, ascending. Empty if there is none, and for fewer than 16 or more than 257 values.
std::optional<Lattice> latticeOf(std::span<const float> distinct, DType dtype);

} // namespace qs
