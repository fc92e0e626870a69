// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/group_statistics.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace qs {
namespace {

/// The statistic of one piece; only the fields that the statistic needs are set.
struct Partial {
    float absMax = 0;
    double sum = 0;
    std::uint64_t count = 0;
};

/// A group statistic. It needs one pass, or two: the first gives a center, the second measures around or above it.
class Statistic {
public:
    Statistic(const KernelSet& kernels, const Run& run) : kernels_(kernels), run_(run) {}

    bool isAbsMax() const { return run_.statistic == GroupStatistic::AbsMax; }
    bool twoPasses() const {
        return run_.statistic == GroupStatistic::MeanAbsTwn || run_.statistic == GroupStatistic::HalfStd;
    }
    float center(const Partial& p) const {
        return run_.statistic == GroupStatistic::HalfStd ? meanForStd(p.sum, p.count) : twnThreshold(p.sum, p.count);
    }
    Partial first(const float* x, std::size_t n) const {
        Partial p;
        if (isAbsMax())
            p.absMax = kernels_.absMax(x, n, false);
        else if (run_.statistic == GroupStatistic::HalfStd)
            p.sum = kernels_.sum(x, n, false, &p.count);
        else
            p.sum = kernels_.sumAbs(x, n, false, &p.count);
        return p;
    }
    Partial second(const float* x, std::size_t n, float center) const {
        Partial p;
        if (run_.statistic == GroupStatistic::HalfStd) {
            p.sum = kernels_.sumSquaredDeviation(x, n, center, false);
        } else {
            const AboveSum above = kernels_.sumAbsAbove(x, n, center);
            p.sum = above.sum, p.count = above.count;
        }
        return p;
    }
    GroupParams params(const Partial& p) const {
        return isAbsMax() ? paramsFromAbsMax(run_, p.absMax) : paramsFromMeanAbs(run_.encoder, p.sum, p.count);
    }
    GroupParams params(const Partial& first, float center, const Partial& second) const {
        if (run_.statistic == GroupStatistic::HalfStd) return paramsFromHalfStd(second.sum, first.count);
        return paramsFromTwn(center, AboveSum{second.sum, second.count});
    }

private:
    const KernelSet& kernels_;
    const Run& run_;
};

using Groups = std::vector<Partial>;

/// Measures groups of consecutive elements. `centers` is empty in the first pass. Returns false if stopped.
bool measureRuns(const Statistic& statistic, const float* x, std::size_t elements, std::size_t group,
                 const std::vector<float>& centers, ThreadTeam& team, const StopRequest& stop, Groups& folded) {
    const std::size_t groups = elements / group, pieces = (group + kStatisticPiece - 1) / kStatisticPiece;
    Groups partials(groups * pieces);
    std::atomic<bool> stopped{false};
    team.run([&](int worker) {
        const auto [begin, end] = shareOf(partials.size(), worker, team.size());
        for (std::size_t i = begin; i < end; ++i) {
            if (stopped || stop()) return stopped.store(true);
            const std::size_t from = i / pieces * group + i % pieces * kStatisticPiece;
            const std::size_t n = std::min(kStatisticPiece, (i / pieces + 1) * group - from);
            partials[i] =
                centers.empty() ? statistic.first(x + from, n) : statistic.second(x + from, n, centers[i / pieces]);
        }
    });
    folded.assign(groups, {});
    for (std::size_t i = 0; i < partials.size(); ++i) {
        Partial& into = folded[i / pieces];
        into.absMax = std::max(into.absMax, partials[i].absMax);
        into.sum += partials[i].sum, into.count += partials[i].count;
    }
    return !stopped;
}

/// Measures columns. A worker goes down all rows of its own columns, so the order of every sum is fixed.
bool measureColumns(const KernelSet& kernels, const Statistic& statistic, const float* x, std::size_t rows,
                    std::size_t cols, const std::vector<float>& centers, ThreadTeam& team, const StopRequest& stop,
                    Groups& folded) {
    folded.assign(cols, {});
    std::vector<float> bounds(cols);
    std::atomic<bool> stopped{false};
    team.run([&](int worker) {
        const auto [begin, end] = shareOf(cols, worker, team.size(), 16);
        for (std::size_t r = 0; r < rows && begin < end; ++r) {
            if (stopped || stop()) return stopped.store(true);
            const float* row = x + r * cols;
            if (statistic.isAbsMax()) {
                kernels.columnAbsMax(row + begin, end - begin, bounds.data() + begin);
                continue;
            }
            for (std::size_t c = begin; c < end; ++c) {
                const float a = std::fabs(row[c]);
                if (centers.empty() || a > centers[c]) folded[c].sum += double(a), ++folded[c].count;
            }
        }
    });
    for (std::size_t c = 0; c < cols; ++c) folded[c].absMax = bounds[c];
    return !stopped;
}

} // namespace

bool measureGroups(const KernelSet& kernels, const Run& run, const float* x, std::size_t rows, std::size_t cols,
                   const SharedGroups& groups, ThreadTeam& team, const StopRequest& stop,
                   std::vector<GroupParams>& params) {
    if (run.statistic == GroupStatistic::None) {
        params.assign(1, {});
        return true;
    }
    const Statistic statistic(kernels, run);
    const auto measure = [&](const std::vector<float>& centers, Groups& into) {
        return groups.columns ? measureColumns(kernels, statistic, x, rows, cols, centers, team, stop, into)
                              : measureRuns(statistic, x, rows * cols, groups.group, centers, team, stop, into);
    };
    Groups first, second;
    if (!measure({}, first)) return false;
    params.clear();
    if (!statistic.twoPasses()) {
        for (const Partial& p : first) params.push_back(statistic.params(p));
        return true;
    }
    std::vector<float> centers;
    for (const Partial& p : first) centers.push_back(statistic.center(p));
    if (!measure(centers, second)) return false;
    for (std::size_t i = 0; i < first.size(); ++i) params.push_back(statistic.params(first[i], centers[i], second[i]));
    return true;
}

} // namespace qs
