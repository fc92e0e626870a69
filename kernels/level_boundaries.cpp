// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/level_boundaries.h"

#include <limits>
#include <map>
#include <mutex>

namespace qs {

std::vector<float> boundariesBetween(std::span<const float> levels) {
    std::vector<float> boundaries;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
        const bool zeros = levels[i] == 0 && levels[i + 1] == 0;
        boundaries.push_back(zeros ? -std::numeric_limits<float>::denorm_min()
                                   : float((double(levels[i]) + double(levels[i + 1])) / 2));
    }
    return boundaries;
}

std::span<const float> boundariesOf(std::span<const float> levels) {
    static std::mutex mutex;
    static std::map<const float*, std::vector<float>> known; // std::map: elements do not move
    const std::lock_guard lock(mutex);
    auto& boundaries = known[levels.data()];
    if (boundaries.empty()) boundaries = boundariesBetween(levels);
    return boundaries;
}

} // namespace qs
