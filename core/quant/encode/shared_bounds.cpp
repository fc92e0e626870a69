// SPDX-License-Identifier: GPL-3.0-or-later
// Bounds of all groups of a tensor by a rule of core: blocks, rows, columns, tiles, the whole. Statistics that can be
// merged are merged in a fixed order; rules that need all values of a group get them in one piece.
#include "core/base/parallel.h"
#include "core/quant/encode/pass.h"

#include <algorithm>

namespace qs {
namespace {

constexpr std::uint64_t kBoundsPiece = 65536;

/// `n` f32 values from `begin` on, in place or in `scratch`.
const float* values(const TensorView& view, std::uint64_t begin, std::size_t n, std::vector<float>& scratch) {
    if (const float* direct = directF32(view)) return direct + begin;
    scratch.resize(std::max(scratch.size(), n));
    loadF32(view, begin, n, scratch.data());
    return scratch.data();
}

GroupBound boundOfAll(const EncodePlan& plan, const float* x, std::size_t n) {
    Run run;
    run.x = x, run.n = n, run.group = n;
    GroupBound bound;
    plan.bounds(run, &bound);
    return bound;
}

/// Consecutive elements, more than a unit holds.
std::vector<GroupBound> ofLongGroups(const TensorView& view, const EncodePlan& plan, const ScaleGrid& grid,
                                     const Job& job) {
    const auto group = std::uint64_t(grid.group), groups = std::uint64_t(grid.rows * grid.features) / group;
    std::vector<GroupBound> bounds(groups);
    std::vector<std::vector<float>> scratch(workerCount());
    if (plan.needsValues()) {
        parallelFor(groups, 1, [&](std::size_t from, std::size_t to, unsigned worker) {
            for (std::size_t g = from; g < to && !job.cancelled(); ++g) {
                populate(view, g * group, (g + 1) * group);
                bounds[g] = boundOfAll(plan, values(view, g * group, group, scratch[worker]), group);
            }
        });
        return bounds;
    }
    const std::uint64_t pieces = (group + kBoundsPiece - 1) / kBoundsPiece;
    std::vector<GroupStatistics> parts(groups * pieces);
    parallelFor(parts.size(), std::max<std::size_t>(1, parts.size() / kMaxPieces),
                [&](std::size_t from, std::size_t to, unsigned worker) {
                    for (std::size_t i = from; i < to && !job.cancelled(); ++i) {
                        const std::uint64_t begin = i / pieces * group + i % pieces * kBoundsPiece;
                        const auto n = std::size_t(std::min(kBoundsPiece, (i / pieces + 1) * group - begin));
                        populate(view, begin, begin + n);
                        parts[i] = plan.measure(values(view, begin, n, scratch[worker]), n);
                    }
                });
    for (std::uint64_t g = 0; g < groups; ++g) {
        GroupStatistics all;
        for (std::uint64_t p = 0; p < pieces; ++p) all.merge(parts[g * pieces + p]);
        bounds[g] = plan.bound(all);
    }
    return bounds;
}

/// Columns and tiles: the rows of each stripe of scales together, a share of the columns at a time.
std::vector<GroupBound> ofStripes(const TensorView& view, const EncodePlan& plan, const ScaleGrid& grid,
                                  const Job& job) {
    const auto columns = std::size_t(columnsPerScale(grid)), features = std::size_t(grid.features);
    const std::size_t across = features / columns; // scales of a row
    std::vector<std::pair<std::int64_t, std::int64_t>> stripes;
    for (std::int64_t row = 0; row < grid.rows; ++row)
        stripes.emplace_back(stridedScaleIndex(grid, view.info->shape, row), row);
    std::ranges::sort(stripes);
    std::vector<GroupBound> bounds(std::size_t(grid.scales));
    const std::size_t share = std::max<std::size_t>(1, 1024 / columns), shares = (across + share - 1) / share;
    parallelFor(shares, 1, [&](std::size_t from, std::size_t to, unsigned) {
        std::vector<float> scratch;
        for (std::size_t s = from; s < to; ++s) {
            const std::size_t first = s * share, count = std::min(share, across - first);
            for (std::size_t i = 0; i < stripes.size() && !job.cancelled();) {
                const std::int64_t base = stripes[i].first;
                std::vector<GroupStatistics> merged(count);
                std::vector<std::vector<float>> gathered(plan.needsValues() ? count : 0);
                for (; i < stripes.size() && stripes[i].first == base; ++i) {
                    const std::uint64_t begin = std::uint64_t(stripes[i].second) * features + first * columns;
                    const float* x = values(view, begin, count * columns, scratch);
                    for (std::size_t k = 0; k < count; ++k)
                        if (plan.needsValues())
                            gathered[k].insert(gathered[k].end(), x + k * columns, x + (k + 1) * columns);
                        else
                            merged[k].merge(plan.measure(x + k * columns, columns));
                }
                for (std::size_t k = 0; k < count; ++k)
                    bounds[std::size_t(base) + first + k] =
                        plan.needsValues() ? boundOfAll(plan, gathered[k].data(), gathered[k].size())
                                           : plan.bound(merged[k]);
            }
        }
    });
    return bounds;
}

} // namespace

Result<std::vector<GroupBound>> measureBounds(const TensorView& view, const SharedPlan& shared, const ScaleGrid& grid,
                                              const Job& job) {
    const EncodePlan& plan = *shared;
    std::vector<GroupBound> bounds;
    if (!grid.contiguous) {
        bounds = ofStripes(view, plan, grid, job);
    } else if (grid.group > kLongGroup) {
        bounds = ofLongGroups(view, plan, grid, job);
    } else {
        bounds.resize(std::size_t(grid.scales));
        const TensorPass pass(view, shared, grid);
        const auto done = pass.run(0, pass.units(), job, [&](const PassRange& range) {
            plan.bounds(range.run, bounds.data() + range.firstGroup);
        });
        if (!done) return tl::unexpected(done.error());
    }
    if (job.cancelled()) return cancelledError();
    return bounds;
}

} // namespace qs
