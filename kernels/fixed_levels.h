// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small level tables as 16-bit integers. Products of integers use them where f32 table lookups are slow.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace qs {

/// Words of codes that share one scale of x. Integer sums over this many words are exact.
inline constexpr std::size_t kFixedSteps = 8;

/// A table of 4 or 16 levels as 16-bit integers: level = integer * factor. A table of 4 levels is repeated four times.
struct FixedLevels {
    alignas(16) std::uint8_t low[16] = {}, high[16] = {}; ///< low and high byte of each integer
    float factor = 0;
    /// The largest |x| in fixed point, at most 32767. With it, sums over kFixedSteps words stay below 2^31.
    float mostX = 0;
    bool highOnly = false; ///< all low bytes are 0
};

/// Rounds 4 or 16 levels to 13 bits including the sign. Levels that are all multiples of 1, or all multiples of 0.5,
/// become exact integers in the high byte (at most 127 units). nullopt if one of these is true:
/// - the count is not 4 or 16, or a level is not finite;
/// - the largest magnitude is outside 1e-20 to 1e20;
/// - there are four levels, and they are not exact;
/// - the sum of squared rounding errors is above 1e-7 of the sum of squares of the smaller levels.
std::optional<FixedLevels> fixedLevels(std::span<const float> levels);

} // namespace qs
