// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics over groups that no unit holds: whole tensors, long groups, columns. Fixed pieces, folded in order.
#include "core/base/parallel.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs {
namespace {

constexpr std::uint64_t kStatisticPiece = 65536;

struct Partial {
    float absMax = 0;
    double sum = 0;
    std::uint64_t count = 0;
};
float largerOrNan(float a, float b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<float>::quiet_NaN() : std::max(a, b);
}

struct Work {
    const TensorView& view;
    const EncodePlan& plan;
    const ScaleGrid& grid;
    const Job& job;
    Run run;
    const KernelSet& kernels;

    bool isAbsMax() const { return run.statistic == GroupStatistic::AbsMax; }
    /// Turns first-pass sums into parameters; for TWN and the standard deviation `second` is that pass, by group.
    GroupParams first(const Partial& p) const {
        if (isAbsMax()) return paramsOfAbsMax(run, plan.inputType(view.info->dtype), p.absMax);
        if (run.statistic == GroupStatistic::MeanAbs) return paramsFromMeanAbs(run.encoder, p.sum, p.count);
        return {};
    }
    bool twoPasses() const {
        return run.statistic == GroupStatistic::MeanAbsTwn || run.statistic == GroupStatistic::HalfStd;
    }
    float center(const Partial& p) const {
        return run.statistic == GroupStatistic::HalfStd ? meanForStd(p.sum, p.count) : twnThreshold(p.sum, p.count);
    }
    GroupParams second(float center, const Partial& firstPass, const Partial& p) const {
        if (run.statistic == GroupStatistic::HalfStd) return paramsFromHalfStd(p.sum, firstPass.count);
        return paramsFromTwn(center, AboveSum{p.sum, p.count});
    }
    Partial measure(const float* x, std::size_t n) const {
        Partial p;
        if (isAbsMax())
            p.absMax = kernels.absMax(x, n, run.skipNonFinite);
        else if (run.statistic == GroupStatistic::HalfStd)
            p.sum = kernels.sum(x, n, run.skipNonFinite, &p.count);
        else
            p.sum = kernels.sumAbs(x, n, run.skipNonFinite, &p.count);
        return p;
    }
    Partial measureAround(const float* x, std::size_t n, float center) const {
        Partial p;
        if (run.statistic == GroupStatistic::HalfStd) {
            p.sum = kernels.sumSquaredDeviation(x, n, center, run.skipNonFinite);
        } else {
            const AboveSum above = kernels.sumAbsAbove(x, n, center);
            p.sum = above.sum, p.count = above.count;
        }
        return p;
    }
};

/// Groups of consecutive elements; `centers` is empty in the first pass.
Result<std::vector<Partial>> measureGroups(const Work& work, const std::vector<float>& centers) {
    const auto group = std::uint64_t(work.grid.group);
    const std::uint64_t elements = std::uint64_t(work.grid.rows) * std::uint64_t(work.grid.features);
    const std::uint64_t groups = elements == 0 ? 1 : elements / group,
                        pieces = (group + kStatisticPiece - 1) / kStatisticPiece;
    std::vector<Partial> partials(elements == 0 ? 0 : groups * pieces);
    std::vector<std::vector<float>> scratch(workerCount());
    const float* direct = directF32(work.view);
    const std::size_t grain = std::max<std::size_t>(1, partials.size() / kMaxPieces);
    parallelFor(partials.size(), grain, [&](std::size_t from, std::size_t to, unsigned worker) {
        for (std::size_t i = from; i < to && !work.job.cancelled(); ++i) {
            const std::uint64_t begin = i / pieces * group + i % pieces * kStatisticPiece;
            const std::size_t n = std::min(kStatisticPiece, (i / pieces + 1) * group - begin);
            populate(work.view, begin, begin + n);
            if (!direct) {
                scratch[worker].resize(kStatisticPiece);
                loadF32(work.view, begin, n, scratch[worker].data());
            }
            const float* x = direct ? direct + begin : scratch[worker].data();
            partials[i] = centers.empty() ? work.measure(x, n) : work.measureAround(x, n, centers[i / pieces]);
        }
    });
    if (work.job.cancelled()) return cancelledError();
    std::vector<Partial> folded(groups);
    for (std::size_t i = 0; i < partials.size(); ++i) {
        Partial& into = folded[i / pieces];
        into.absMax = largerOrNan(into.absMax, partials[i].absMax);
        into.sum += partials[i].sum;
        into.count += partials[i].count;
    }
    return folded;
}

/// Scales that follow columns: a worker takes columns and walks down all rows, so that each sum has one order.
Result<std::vector<Partial>> measureStrided(const Work& work, const std::vector<float>& centers) {
    const auto& grid = work.grid;
    const bool along = columnsPerScale(grid) == 1 && grid.features > 1;
    std::vector<Partial> partials(std::size_t(grid.scales));
    std::vector<float> bounds(along && work.isAbsMax() ? partials.size() : 0); // of rows without NaN and Inf
    const std::size_t features = std::size_t(grid.features);
    parallelFor(grid.rows == 0 ? 0 : features, along ? 1024 : features,
                [&](std::size_t from, std::size_t to, unsigned) {
                    std::vector<float> scratch(to - from);
                    for (std::int64_t row = 0; row < grid.rows && !(row % 64 == 0 && work.job.cancelled()); ++row) {
                        const float* direct = directF32(work.view);
                        const std::uint64_t begin = std::uint64_t(row) * features + from;
                        if (!direct) loadF32(work.view, begin, to - from, scratch.data());
                        const float* x = direct ? direct + begin : scratch.data();
                        const std::size_t base = std::size_t(stridedScaleIndex(grid, work.view.info->shape, row));
                        if (!bounds.empty() && std::isfinite(work.kernels.absMax(x, to - from, false))) {
                            work.kernels.columnAbsMax(x, to - from, bounds.data() + base + from);
                            continue;
                        }
                        if (!along) {
                            const Partial p = centers.empty() ? work.measure(x, to - from)
                                                              : work.measureAround(x, to - from, centers[base]);
                            Partial& into = partials[base];
                            into.absMax = largerOrNan(into.absMax, p.absMax);
                            into.sum += p.sum, into.count += p.count;
                            continue;
                        }
                        for (std::size_t i = 0; i < to - from; ++i) {
                            Partial& into = partials[base + from + i];
                            const float a = std::fabs(x[i]);
                            if (work.run.skipNonFinite && !std::isfinite(a)) continue;
                            if (work.isAbsMax()) {
                                into.absMax = largerOrNan(into.absMax, a);
                            } else if (centers.empty() || a > centers[base + from + i]) {
                                into.sum += double(a), ++into.count;
                            }
                        }
                    }
                });
    if (work.job.cancelled()) return cancelledError();
    for (std::size_t i = 0; i < bounds.size(); ++i) partials[i].absMax = largerOrNan(partials[i].absMax, bounds[i]);
    return partials;
}

} // namespace

Result<std::vector<GroupParams>> measureSharedParams(const TensorView& view, const EncodePlan& plan,
                                                     const ScaleGrid& grid, const Job& job) {
    const Work work{view, plan, grid, job, plan.run(), bestKernels()};
    if (work.run.statistic == GroupStatistic::None) return std::vector<GroupParams>(1);
    const auto measure = [&](const std::vector<float>& centers) {
        return grid.contiguous ? measureGroups(work, centers) : measureStrided(work, centers);
    };
    const auto firstPass = measure({});
    if (!firstPass) return tl::unexpected(firstPass.error());
    std::vector<GroupParams> params;
    params.reserve(firstPass->size());
    if (!work.twoPasses()) {
        for (const Partial& partial : *firstPass) params.push_back(work.first(partial));
        return params;
    }
    std::vector<float> centers;
    for (const Partial& partial : *firstPass) centers.push_back(work.center(partial));
    const auto secondPass = measure(centers);
    if (!secondPass) return tl::unexpected(secondPass.error());
    for (std::size_t i = 0; i < secondPass->size(); ++i)
        params.push_back(work.second(centers[i], (*firstPass)[i], (*secondPass)[i]));
    return params;
}

} // namespace qs
