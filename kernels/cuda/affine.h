// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// 2-bit codes with evenly spaced levels. The kernels decode them by arithmetic, without a table in shared memory. This
// is host code; the kernels use the same constants.
//
// bf16 has 7 mantissa bits. A code in mantissa bits 2p and 2p + 1 of the number 128 gives 128 + 4^p * code. Multiplied
// by 4^-p, plus (offset - 128 * 4^-p), this is code + offset. That is one fused operation for two values. It is exact,
// because every number in it is a bf16. The distance of the levels is multiplied into the scales.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace qs::cuda {

inline constexpr int kAffinePlaces = 3; ///< p = 0, 1, 2: six of the seven mantissa bits
constexpr float affineFactor(int p) { return 1.0f / float(1 << (2 * p)); }
constexpr float affineTerm(float offset, int p) { return offset - 128.0f * affineFactor(p); }

/// Evenly spaced levels: levels[i] == step * (codes[i] + offset), exactly.
struct AffineLevels {
    float step, offset;
    std::array<std::uint8_t, 4> codes;
};
/// Finds this form for 2 to 4 levels; some of the evenly spaced places may be empty. nullopt if the levels are not
/// evenly spaced, or if a constant is not a bf16.
std::optional<AffineLevels> affineLevels(std::span<const float> levels);

} // namespace qs::cuda
