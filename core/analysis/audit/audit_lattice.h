// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Do values lie at equal steps, as integers times a scale do, with a zero point or an offset or without?
//
// The statistic is the periodogram of the distinct values v_1 ... v_d (distinct, so that clipped or pruned values weigh
// nothing): C(s) = |sum exp(2 pi i v / s)|^2 / d, whatever the offset. On steps of s it is d, less what rounding to the
// element type took. Of a smooth density much wider than s the phases are even and C is exponentially distributed with
// mean 1 (Rayleigh's test; Scargle, ApJ 263, 1982), so that the largest of m independent ones exceeds t by chance with
// a probability of at most m exp(-t). Steps from 1/8 to 1/255.5 of the range are tried, 248 independent ones.
//
// Floats have steps of their own: those of BF16 in the binade of v are at most |v| / 128. Only values up to 64 s are
// looked at, where these are at most half of s, so that no float is told by its type; the same in F32, which may hold
// BF16. Steps below 2^-22 are not tried but in BF16: they are those of small F16.

#include "core/model/dtype.h"

#include <optional>
#include <span>

namespace qs {

/// 248 steps by chance in one group of a thousand: ln(248 / 0.001).
inline constexpr double kLatticeThreshold = 12.4;
/// The least part of d: rounding to BF16 leaves 0.87 of it.
inline constexpr double kLatticeCoherence = 0.7;

struct Lattice {
    double step = 0;
    int steps = 0; ///< from the least to the largest value
};
/// Of the values of one scale, distinct and ascending: the widest step that all those near 0 keep to within their
/// rounding. None for more than 257 of them, or fewer than 16.
std::optional<Lattice> latticeOf(std::span<const float> distinct, DType dtype);

} // namespace qs
