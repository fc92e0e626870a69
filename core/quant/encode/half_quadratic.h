// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// HQQ's zero points (Badri and Shaji 2023, "Half-Quadratic Quantization of Large Machine Learning Models"): the zero
// point z that minimises sum |w - s (Q(w / s + z) - z)|^p with p < 1, by splitting it into w_e, the shrunk error, and z.

#include <span>
#include <vector>

namespace qs {

struct HalfQuadratic {
    double p = 0.7, beta = 10, kappa = 1.01;
    int iterations = 20;
};
/// The numbers of calib=hqq, in this order; those left out are the publication's.
HalfQuadratic halfQuadraticOf(std::span<const double> numbers);

/// The zero point of one group, in units of the levels, which are the integers from `lowest` to `highest`. Starts where
/// the least value has the lowest level; stops when the mean |error| no longer falls, with the step that showed it taken,
/// as in the authors' program. f32, averages in f64.
float halfQuadraticZero(std::span<const float> values, float scale, float lowest, float highest,
                        const HalfQuadratic& how);

} // namespace qs
