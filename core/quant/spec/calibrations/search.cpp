// SPDX-License-Identifier: GPL-3.0-or-later
// Bounds that are found by trying shares of the range.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs {
namespace {

/// Squares of magnitudes within these bounds, and sums of them, are ordinary f32.
constexpr float kLeastSquared = 0x1p-50f, kMostSquared = 0x1p50f;

/// The squared error and the energy of a group whose squares leave f32.
void sumWide(const Run& run, const float* decoded, std::size_t group, double& error, double& energy) {
    error = energy = 0;
    for (std::size_t i = group * run.group; i < std::min(run.n, (group + 1) * run.group); ++i) {
        const double x = double(run.x[i]), e = double(decoded[i]) - x;
        if (run.skipNonFinite && !std::isfinite(x)) continue;
        error += e * e, energy += x * x;
    }
}

/// Calls `better(group, squared error, energy, clip)` for every group and every clip, in the order of the clips.
template<class Better>
void tryClips(const EncodePlan& plan, const Run& run, std::span<const float> clips, std::span<const GroupBound> bounds,
              Better better) {
    const std::size_t groups = bounds.size();
    std::vector<GroupParams> params(groups);
    std::vector<float> error(groups), energy(groups);
    Run trial = plan.trial();
    trial.x = run.x, trial.n = run.n, trial.group = run.group;
    trial.given = params.data(), trial.givenStride = 1;
    RunOut out;
    out.groupSse = error.data(), out.groupSsw = energy.data();
    std::vector<std::size_t> wide; // groups
    for (std::size_t g = 0; g < groups; ++g)
        if (const float most = std::max(-bounds[g].low, bounds[g].high);
            most > kMostSquared || (most > 0 && most < kLeastSquared))
            wide.push_back(g);
    std::vector<float> decoded(wide.empty() ? 0 : run.n);
    if (!wide.empty()) out.decoded = decoded.data();
    for (const float clip : clips) {
        for (std::size_t g = 0; g < groups; ++g) params[g] = plan.params({bounds[g].low * clip, bounds[g].high * clip});
        bestKernels().quantize(trial, out);
        auto next = wide.begin();
        for (std::size_t g = 0; g < groups; ++g) {
            double lost = double(error[g]), all = double(energy[g]);
            if (next != wide.end() && *next == g) sumWide(trial, decoded.data(), *next++, lost, all);
            better(g, lost, all, clip);
        }
    }
}

void clipBounds(std::span<GroupBound> bounds, const std::vector<float>& clips) {
    for (std::size_t g = 0; g < bounds.size(); ++g) bounds[g].low *= clips[g], bounds[g].high *= clips[g];
}

// 1 down to 0.3 in steps of 0.025. Every group takes the clip whose squared error is least, the first of equals.
void searchLeastError(const EncodePlan& plan, const Run& run, GroupBound* first) {
    static const std::vector<float> grid = [] {
        std::vector<float> out;
        for (int i = 0; i <= 28; ++i) out.push_back(float(40 - i) / 40.0f);
        return out;
    }();
    const std::span<GroupBound> bounds(first, (run.n + run.group - 1) / run.group);
    std::vector<float> chosen(bounds.size(), 1.0f);
    std::vector<double> least(bounds.size(), std::numeric_limits<double>::infinity());
    tryClips(plan, run, grid, bounds, [&](std::size_t g, double error, double, float clip) {
        if (error < least[g]) least[g] = error, chosen[g] = clip;
    });
    clipBounds(bounds, chosen);
}

// AQT starts at no clip and takes those whose log(1 + signal / noise) is above the best so far; f32, as AQT's.
void searchBestRatio(const EncodePlan& plan, const Run& run, GroupBound* first) {
    std::vector<float> grid = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f};
    if (!plan.arguments().empty()) grid.assign(plan.arguments().begin(), plan.arguments().end());
    const std::span<GroupBound> bounds(first, (run.n + run.group - 1) / run.group);
    std::vector<float> chosen(bounds.size(), 1.0f);
    std::vector<double> best(bounds.size(), 0.0);
    tryClips(plan, run, grid, bounds, [&](std::size_t g, double error, double energy, float clip) {
        const double ratio = double(std::log(1 + float(energy / error)));
        if (ratio > best[g]) best[g] = ratio, chosen[g] = clip;
    });
    clipBounds(bounds, chosen);
}

} // namespace

constinit const CalibrationTraits kMseCalibration = {
    .id = "mse",
    .title = "Least squared error",
    .arguments = "",
    .summary = "The range times the c of 1, 0.975, 0.95 ... 0.3 whose squared error is least, the largest of equals.",
    .minArguments = 0,
    .maxArguments = 0,
    .takes = hasBoundAndLevels,
    .ends = Ends::Either,
    .search = searchLeastError,
};

constinit const CalibrationTraits kSnrCalibration = {
    .id = "snr",
    .title = "Best signal to noise (AQT)",
    .arguments = "[,c...]",
    .summary = "AQT's search: the range times the first c with the largest log(1 + signal/noise); c is 0.1, 0.2 ... 1 "
               "when not given.",
    .minArguments = 0,
    .maxArguments = 16,
    .takes = hasBoundAndLevels,
    .search = searchBestRatio,
};

} // namespace qs
