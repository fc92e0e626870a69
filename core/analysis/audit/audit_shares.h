// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tests how well the frequencies (shares) of 4-bit codes fit a codebook.
//
// Blocks of B weights are divided by their largest magnitude. The distribution of the result depends only on the shape
// of the distribution of the weights. The model is the generalised normal density, proportional to exp(-|x|^beta), with
// beta from 0.5 (heavier than Laplacian) to 10 (nearly uniform). Under this model a codebook gives each code an
// expected share q. The distance of the observed shares p is sum p ln(p / q) in nats per code, minimised over beta. It
// is the logarithm of the likelihood ratio per code.
//
// Measured on the 58 matrices of the sample model with blocks of 32, 64 and 128. Under the codebook that made the
// codes: median 0.001, largest 0.03 (a matrix that is not symmetric). Under NF4 for AF4 codes, or the reverse: 0.014.
// For INT4: 0.02 to 0.03. Under FP4: 0.1 and more. So a single tensor tells codebooks apart above kMisfit, which is
// twice the largest value. Codebooks that are closer to each other need many tensors: see kWrongByChance.

#include <array>
#include <cstdint>
#include <string>

namespace qs {

using Levels = std::array<double, 16>; ///< value of each 4-bit code; NaN if the code has no value
using Shares = std::array<double, 16>; ///< frequency of each code; the sum is 1

/// Distance from the label that no trained tensor reaches. Above it a single tensor is a finding, if another codebook
/// is four times closer.
inline constexpr double kMisfit = 0.06;
/// Fraction of correctly labelled tensors that another codebook fits at least twice as well. Measured: 2 of the 58
/// matrices of the sample model; one in ten is assumed.
inline constexpr double kWrongByChance = 0.1;
/// Probability, under kWrongByChance, that so many tensors contradict a correct label.
inline constexpr double kFalseAlarm = 1e-6;

/// Distance in nats per code, see above. `block`: number of weights per scale. `exponents`: scales are powers of two,
/// 2^(floor(log2 max) - 2), for levels up to 6 as in the MX formats. The largest weight of a block is then between two
/// levels.
double sharesDistance(const Levels& levels, const Shares& shares, std::uint64_t block, bool exponents);

/// P(X >= hits) for a binomial distribution with `trials` trials of probability `chance`.
double binomialTail(std::uint64_t trials, std::uint64_t hits, double chance);

} // namespace qs
