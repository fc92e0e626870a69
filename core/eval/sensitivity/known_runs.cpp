// SPDX-License-Identifier: GPL-3.0-or-later
// Runs whose scores are known: from the records of several processes, or from the cache.
#include "core/eval/sensitivity/known_runs.h"

#include "core/records/input_hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {

template<class Archive, archive::Of<ChunkScores> T> void fieldsOf(Archive& archive, T& c) {
    archive(c.tokens, c.notFinite, c.divergence, c.divergenceSquares, c.largestDivergence, c.nllChange,
            c.nllChangeSquares, c.sameTop);
}

namespace {

/// A run in the records of several processes.
struct RunRecord {
    BranchResult result;
    bool ended = false; ///< before the last chunk
};

template<class Archive, archive::Of<RunRecord> T> void fieldsOf(Archive& archive, T& run) {
    archive(run.result.scores, run.result.reason, run.ended);
}

constexpr std::size_t kNumbers = 8; ///< numbers that a record has for each chunk

std::vector<double> numbersOf(const RunScores& run) {
    std::vector<double> out;
    for (const ChunkScores& c : run)
        for (const double number : {double(c.tokens), double(c.notFinite), c.divergence, c.divergenceSquares,
                                    c.largestDivergence, c.nllChange, c.nllChangeSquares, double(c.sameTop)})
            out.push_back(number);
    return out;
}

/// A count that was stored as a number; a large one if it is none.
std::size_t countOf(double number) {
    return number >= 0 && number < 0x1p53 ? std::size_t(number) : std::size_t(0x1p53);
}

RunScores scoresOf(const std::vector<double>& numbers) {
    RunScores out;
    for (std::size_t i = 0; i + kNumbers <= numbers.size(); i += kNumbers) {
        const double* n = numbers.data() + i;
        out.push_back({countOf(n[0]), countOf(n[1]), n[2], n[3], n[4], n[5], n[6], countOf(n[7])});
    }
    return out;
}

/// True if scores that were read are of this many scored tokens.
bool isOf(const ChunkScores& chunk, std::size_t tokens) {
    const auto& c = chunk;
    return c.tokens <= tokens && c.notFinite == tokens - c.tokens && c.sameTop <= c.tokens &&
           std::ranges::all_of(
               std::array{c.divergence, c.divergenceSquares, c.largestDivergence, c.nllChange, c.nllChangeSquares},
               [](double x) { return std::isfinite(x); });
}

/// Cuts the scores of a whole run where it would have ended. True: it would have ended before its last chunk.
bool endWhenCertain(RunScores& scores, std::size_t chunks, double until) {
    for (std::size_t n = kChunksToEnd; until > 0 && n < chunks && n <= scores.size(); n += kChunksToEnd) {
        RunScores first(scores.begin(), scores.begin() + std::ptrdiff_t(n));
        if (!isCertain(first, until)) continue;
        scores = std::move(first);
        return true;
    }
    return false;
}

std::string endedKey(const Branch& branch, double until) { return branch.key + fmt::format("\nuntil {}", until); }

} // namespace

Result<KnownRuns> KnownRuns::open(const SensitivityPlan& plan, const std::string& about, std::size_t layers,
                                  const ScoredText& scored) {
    auto records = Records::open(plan.cache, about);
    if (!records) return tl::unexpected(records.error());
    return KnownRuns(plan.units, std::move(*records), sha256OfText(about), layers, scored);
}

KnownRuns::KnownRuns(UnitRun* units, Records records, std::string about, std::size_t layers, const ScoredText& scored)
    : units_(units), records_(std::move(records)), about_(std::move(about)), layers_(layers), chunks_(scored.chunks) {
    tokens_.resize(scored.chunks);
    for (const ScoredRange& range : scored.ranges) tokens_[range.chunk] += range.end - range.begin;
    while (!tokens_.empty() && tokens_.back() == 0) tokens_.pop_back();
}

/// True if scores that were read are those of all chunks or, of a run that ended before, of the first ones.
bool KnownRuns::fits(const RunScores& scores, bool ended) const {
    if (scores.size() > tokens_.size() || (!ended && scores.size() < tokens_.size())) return false;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (!isOf(scores[i], tokens_[i])) return false;
    return true;
}

Result<std::vector<std::size_t>> KnownRuns::take(std::span<const Branch> branches, const BranchDone& done,
                                                 double until) {
    std::vector<std::size_t> missing;
    const auto weightOf = [&](const Branch& branch) { return double(layers_ + 1) - double(branch.first()); };
    double total = 0;
    for (const Branch& branch : branches) total += branch.kept.empty() ? weightOf(branch) : 0;
    if (units_) units_->begin(total);
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const Branch& branch = branches[i];
        if (!branch.kept.empty()) {
            if (auto ok = done(i, {{}, branch.kept}); !ok) return tl::unexpected(ok.error());
            continue;
        }
        const bool isMine = !units_ || units_->takes(weightOf(branch));
        const std::string unit = unitKey(until > 0 ? endedKey(branch, until) : branch.key);
        if (units_)
            if (const auto known = units_->find<RunRecord>(unit, [&](const RunRecord& run) {
                    return fits(run.result.scores, run.ended || !run.result.reason.empty());
                })) {
                ++found_, ended_ += known->ended ? 1 : 0;
                if (auto ok = done(i, known->result); !ok) return tl::unexpected(ok.error());
                continue;
            }
        if (!isMine) {
            units_->leaveOut(branch.name);
            continue;
        }
        auto numbers = records_.find(branch.key);
        const bool isWhole = numbers.has_value();
        if (!numbers && until > 0) numbers = records_.find(endedKey(branch, until));
        BranchResult result{numbers ? scoresOf(*numbers) : RunScores(), {}};
        if (!numbers || !fits(result.scores, !isWhole)) {
            missing.push_back(i);
            continue;
        }
        const bool ended = !isWhole || endWhenCertain(result.scores, chunks_, until);
        ++found_, ended_ += ended ? 1 : 0;
        if (units_)
            if (auto kept = units_->keep(unit, RunRecord{result, ended}); !kept) return tl::unexpected(kept.error());
        if (auto ok = done(i, result); !ok) return tl::unexpected(ok.error());
    }
    return missing;
}

Result<void> KnownRuns::keep(const Branch& branch, const BranchResult& result, bool ended, double until) {
    ended_ += ended ? 1 : 0;
    const std::string unit = unitKey(until > 0 ? endedKey(branch, until) : branch.key);
    if (units_)
        if (auto kept = units_->keep(unit, RunRecord{result, ended}); !kept) return kept;
    if (!result.reason.empty()) return {};
    return records_.add(ended ? endedKey(branch, until) : branch.key, numbersOf(result.scores));
}

} // namespace qs::eval
