// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How well the shares of four-bit codes fit a codebook.
//
// Blocks of B weights divided by their largest magnitude are distributed by the shape of the weights alone: here the
// generalised normal density, proportional to exp(-|x|^beta), beta from 0.5 (heavier than Laplacian) to 10 (nearly even).
// A codebook gives each of these shares of its codes; how far the seen shares p are from them, q, is
// sum p ln(p / q), in nats for each code, the least over beta: the logarithm of the likelihood ratio of a code.
//
// Measured on the 58 matrices of the sample and blocks of 32, 64 and 128: under the codebook that made the codes 0.001
// (median) and 0.03 (the largest, a matrix that is not symmetric); under NF4 for AF4 and the other way about 0.014,
// for INT4 0.02 to 0.03, under FP4 0.1 and more. So one tensor tells codebooks apart above kMisfit, twice that largest;
// nearer ones are told by many tensors: see kWrongByChance.

#include <array>
#include <cstdint>
#include <string>

namespace qs {

using Levels = std::array<double, 16>; ///< value of each code of four bits; NaN where it stands for none
using Shares = std::array<double, 16>; ///< of each code; their sum is 1

/// Farther from its label than any trained tensor: the tensor says so by itself, where another codebook is four times
/// nearer.
inline constexpr double kMisfit = 0.06;
/// Of tensors under their own label, the part that another codebook fits at least twice as well: 2 of 58 matrices of the
/// sample, here one of ten.
inline constexpr double kWrongByChance = 0.1;
/// The probability, under kWrongByChance, that so many tensors speak against a right label.
inline constexpr double kFalseAlarm = 1e-6;

/// Nats for each code. `block`: weights of one scale; `exponents`: scales are powers of two, 2^(floor(log2 max) - 2) for
/// levels up to 6 as in MX, and the largest weight lies somewhere between two of them.
double sharesDistance(const Levels& levels, const Shares& shares, std::uint64_t block, bool exponents);

/// P(X >= hits) of a binomial distribution.
double binomialTail(std::uint64_t trials, std::uint64_t hits, double chance);

} // namespace qs
