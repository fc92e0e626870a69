// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/frontier.h"

#include <algorithm>

namespace qs::plan {
namespace {

struct Step {
    double perByte; ///< loss that a byte removes
    std::int64_t bytes;
    double loss, error; ///< what it changes
};

/// The steps from corner to corner of a unit's hull, and its first corner.
UnitOption addSteps(const UnitOptions& options, std::vector<Step>& steps) {
    std::vector<UnitOption> all(options.begin(), options.end());
    std::ranges::stable_sort(all, [](const UnitOption& a, const UnitOption& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.loss < b.loss;
    });
    const auto slope = [](const UnitOption& a, const UnitOption& b) {
        return (a.loss - b.loss) / double(b.bytes - a.bytes);
    };
    std::vector<UnitOption> hull;
    for (const UnitOption& one : all) {
        if (!hull.empty() && (one.loss >= hull.back().loss || one.bytes == hull.back().bytes)) continue;
        while (hull.size() >= 2 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), one))
            hull.pop_back();
        hull.push_back(one);
    }
    for (std::size_t i = 1; i < hull.size(); ++i)
        steps.push_back({slope(hull[i - 1], hull[i]), std::int64_t(hull[i].bytes - hull[i - 1].bytes),
                         hull[i].loss - hull[i - 1].loss, hull[i].error - hull[i - 1].error});
    return hull.front();
}

} // namespace

std::vector<FrontierPoint> frontierOf(const Options& options, std::size_t most) {
    std::vector<Step> steps;
    FrontierPoint point{options.fixedBytes, 0, 0};
    for (std::size_t u = 0; u < options.of.size(); ++u) {
        const UnitOption first = addSteps(options.of[u], steps);
        point.bytes += first.bytes, point.loss += first.loss, point.error += first.error;
    }
    std::ranges::stable_sort(steps, [](const Step& a, const Step& b) { return a.perByte > b.perByte; });
    std::vector<FrontierPoint> out{point};
    const std::size_t stride = std::max<std::size_t>(1, (steps.size() + most - 2) / std::max<std::size_t>(1, most - 1));
    for (std::size_t i = 0; i < steps.size(); ++i) {
        point.bytes += std::uint64_t(steps[i].bytes), point.loss += steps[i].loss, point.error += steps[i].error;
        if ((i + 1) % stride == 0 || i + 1 == steps.size()) out.push_back(point);
    }
    return out;
}

} // namespace qs::plan
