// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Codes of 2 bits whose levels are evenly spaced: decoded by arithmetic, without a table in shared memory. Host code; the
// kernels use the same constants.
//
// A code put into bits 2p and 2p + 1 of the mantissa of 128 in bf16 makes it 128 + 4^p code. Times 4^-p, plus
// offset - 128 * 4^-p, that is code + offset: one fused operation for two values, and exact, as every number in it is a
// bf16. The distance of the levels joins the scales.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace qs::cuda {

inline constexpr int kAffinePlaces = 3; ///< p = 0, 1, 2: six of the seven bits of a mantissa
constexpr float affineFactor(int p) { return 1.0f / float(1 << (2 * p)); }
constexpr float affineTerm(float offset, int p) { return offset - 128.0f * affineFactor(p); }

struct AffineLevels {
    float step, offset;
    std::array<std::uint8_t, 4> codes; ///< levels[i] == step * (codes[i] + offset), exactly
};
/// Of 2 to 4 levels; nullopt: they are not evenly spaced (gaps may be left out), or a constant of theirs is no bf16.
std::optional<AffineLevels> affineLevels(std::span<const float> levels);

} // namespace qs::cuda
