// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/score_profile.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {
namespace {

/// Whether `a` comes before `b` in a list of the worst tokens.
bool isWorse(const TokenScore& a, const TokenScore& b) {
    if (a.divergence != b.divergence) return a.divergence > b.divergence;
    return a.chunk != b.chunk ? a.chunk < b.chunk : a.position < b.position;
}

} // namespace

std::uint64_t ScoreProfile::tokens() const {
    std::uint64_t sum = below + above;
    for (const std::uint64_t count : bins) sum += count;
    return sum;
}

ProfileGatherer::ProfileGatherer(std::size_t context)
    : context_(context), positions_(std::min(context, kPositionRanges)) {}

void ProfileGatherer::add(std::span<const TokenScore> scores) {
    for (const TokenScore& score : scores) {
        if (!score.finite) continue;
        mean_.add(score.divergence, score.chunk);
        positions_[score.position * positions_.size() / context_].add(score.divergence, score.chunk);
        const double at =
            score.divergence > 0 ? std::floor((std::log10(score.divergence) - kFirstPower) * kBinsPerPower) : -1;
        ++(at < 0 ? profile_.below : at >= kBins ? profile_.above : profile_.bins[std::size_t(at)]);
        addWorst(score);
        if (mean_.count() % step_ == 0) addRunning();
    }
}

void ProfileGatherer::addRunning() {
    auto& running = profile_.running;
    running.push_back({mean_.count(), mean_.estimate()});
    if (running.size() < kRunningPoints) return;
    step_ *= 2;
    std::erase_if(running, [this](const RunningPoint& point) { return point.tokens % step_ != 0; });
}

void ProfileGatherer::addWorst(const TokenScore& score) {
    auto& worst = profile_.worst;
    if (worst.size() == kWorstTokens) {
        if (!isWorse(score, worst.front())) return;
        std::pop_heap(worst.begin(), worst.end(), isWorse);
        worst.pop_back();
    }
    worst.push_back(score);
    std::push_heap(worst.begin(), worst.end(), isWorse);
}

ScoreProfile ProfileGatherer::profile() const {
    ScoreProfile out = profile_;
    std::ranges::sort(out.worst, isWorse);
    if (mean_.count() > 0 && (out.running.empty() || out.running.back().tokens < mean_.count()))
        out.running.push_back({mean_.count(), mean_.estimate()});
    const std::size_t ranges = positions_.size();
    const auto begin = [&](std::size_t i) { return (i * context_ + ranges - 1) / ranges; };
    for (std::size_t i = 0; i < ranges; ++i)
        if (const std::size_t count = positions_[i].count(); count > 0)
            out.positions.push_back({begin(i), begin(i + 1), count, positions_[i].estimate()});
    return out;
}

} // namespace qs::eval
