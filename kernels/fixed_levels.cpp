// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/fixed_levels.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

/// Largest squared rounding error, relative to the energy of the levels without the largest ones: a weight may not use
/// those.
constexpr double kMostError = 1e-7;

/// Whether every level is a whole multiple of `unit`, at most 127 times.
bool allWhole(std::span<const float> levels, float unit) {
    return std::all_of(levels.begin(), levels.end(), [&](float level) {
        const float value = level / unit;
        return std::fabs(value) <= 127 && value == std::nearbyint(value);
    });
}

} // namespace

std::optional<FixedLevels> fixedLevels(std::span<const float> levels) {
    const auto size = levels.size();
    if (size != 4 && size != 16) return std::nullopt;
    float most = 0;
    for (const float level : levels) {
        if (!std::isfinite(level)) return std::nullopt;
        most = std::max(most, std::fabs(level));
    }
    if (most < 1e-20f || most > 1e20f) return std::nullopt;
    FixedLevels fixed;
    fixed.highOnly = allWhole(levels, 1.0f) || allWhole(levels, 0.5f);
    if (!fixed.highOnly && size == 4) return std::nullopt; // no kernel exists for this case
    const float unit = fixed.highOnly ? (allWhole(levels, 1.0f) ? 1.0f : 0.5f) : most / 4095.0f;
    const float shift = fixed.highOnly ? 256.0f : 1.0f;
    fixed.factor = unit / shift;
    double error = 0, power = 0;
    for (std::size_t i = 0; i < 16; ++i) {
        const float level = levels[i % size], rounded = std::nearbyint(level / unit);
        error += std::pow(double(level) - double(rounded) * double(unit), 2);
        if (std::fabs(level) < 0.9f * most) power += double(level) * double(level);
        const auto bits = std::uint16_t(std::int16_t(rounded * shift));
        fixed.low[i] = std::uint8_t(bits), fixed.high[i] = std::uint8_t(bits >> 8);
    }
    if (!fixed.highOnly && error > kMostError * power) return std::nullopt;
    const double codes = double(kFixedSteps) * (size == 4 ? 16 : 8);
    fixed.mostX = float(std::min(32767.0, std::floor(2147483647.0 / (codes * double(most / unit * shift)))));
    return fixed;
}

} // namespace qs
