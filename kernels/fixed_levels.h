// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tables of few levels as 16-bit integers, for products of integers where those of floats are slow.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace qs {

inline constexpr std::size_t kFixedSteps = 8; ///< words of codes whose x share a scale and whose sums are exact

struct FixedLevels {
    alignas(16) std::uint8_t low[16] = {}, high[16] = {}; ///< bytes of level / factor, repeated
    float factor = 0;
    float mostX = 0;       ///< |x| in fixed point: sums of kFixedSteps words stay below 2^31
    bool highOnly = false; ///< all low bytes are 0
};

/// The levels (4 or 16) rounded to 13 bits with their sign; exactly where halves of whole numbers below 64 are all of
/// them. nullopt: not a number, or too different for that many bits.
std::optional<FixedLevels> fixedLevels(std::span<const float> levels);

} // namespace qs
