// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/affine.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qs::cuda {
namespace {

bool isBf16(float value) { return (std::bit_cast<std::uint32_t>(value) & 0xffffu) == 0; }

/// The affine form with the given lowest level and step; nullopt if the levels do not fit it exactly.
std::optional<AffineLevels> spaced(std::span<const float> levels, float lowest, float step) {
    AffineLevels to{step, lowest / step, {}};
    for (int p = 0; p < kAffinePlaces; ++p)
        if (!isBf16(affineTerm(to.offset, p))) return std::nullopt;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const double code = std::nearbyint((double(levels[i]) - double(lowest)) / double(step));
        const double value = code + double(to.offset);
        if (!(code >= 0 && code <= 3) || double(step) * value != double(levels[i]) || !isBf16(float(value)))
            return std::nullopt;
        to.codes[i] = std::uint8_t(code);
    }
    return to;
}

} // namespace

std::optional<AffineLevels> affineLevels(std::span<const float> levels) {
    if (levels.size() < 2 || levels.size() > 4) return std::nullopt;
    const auto [low, high] = std::minmax_element(levels.begin(), levels.end());
    const double width = double(*high) - double(*low);
    if (!(width > 0) || !std::isfinite(width)) return std::nullopt;
    for (const int gaps : {1, 2, 3})
        if (const auto found = spaced(levels, *low, float(width / gaps))) return found;
    return std::nullopt;
}

} // namespace qs::cuda
