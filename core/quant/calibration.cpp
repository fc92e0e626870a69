// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec.h"

#include <algorithm>

namespace qs {
namespace {

constexpr CalibrationTraits kCalibrations[] = {
    {"absmax", "Absolute maximum", "[,c]",
     "Bound = c x max|x| of each scale group; c below 1 clips, c is 1 when not given.", 0, 1},
    {"absmean", "Mean magnitude", "",
     "Scale = mean|x| (binary, BitNet), or mean of the |x| above 0.7 mean|x| (Ternary Weight Networks).", 0, 0},
    {"std", "Half a standard deviation", "",
     "Threshold = 0.5 std(x) over the whole tensor, no scale: unscaled ternary.", 0, 0},
};

} // namespace

std::span<const CalibrationTraits> calibrations() { return kCalibrations; }

std::vector<std::string_view> words(std::string_view list) {
    std::vector<std::string_view> out;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        if (end > 0) out.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return out;
}

std::vector<std::string_view> calibrationsOf(const QuantSpec& spec) {
    const bool unscaled = spec.scaleKind() == ScaleKind::None;
    std::vector<std::string_view> out;
    // Only a threshold is calibrated without a scale; a threshold over the whole tensor has none.
    for (const std::string_view id : words(spec.traits().calibrations))
        if ((id == "std") == unscaled) out.push_back(id);
    return out;
}

} // namespace qs
