// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/evaluate.h"

#include "core/eval/network/served_matrix.h"
#include "core/eval/run/chunk_units.h"
#include "core/eval/run/contest.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {

// Fields of the records, in the order of the structs.

template<class Archive, archive::Of<TokenScore> T> void fieldsOf(Archive& archive, T& s) {
    archive(s.token, s.chunk, s.position, s.referenceNll, s.nll, s.divergence, s.probabilityChange, s.sameTop,
            s.finite);
}

namespace {

/// What an evaluation has finished of one chunk.
struct EvaluationPart {
    std::vector<std::vector<TokenScore>> scores; ///< for each change; empty for one that has failed
    std::vector<std::string> reasons;            ///< for each change, see Evaluation::reasons
    std::vector<std::string> servedBy;           ///< for each change, see Evaluation::servedBy
};

template<class Archive, archive::Of<EvaluationPart> T> void fieldsOf(Archive& archive, T& part) {
    archive(part.scores, part.reasons, part.servedBy);
}

bool isFinite(const TokenScore& score) {
    return std::isfinite(score.referenceNll) && std::isfinite(score.nll) && std::isfinite(score.divergence) &&
           std::isfinite(score.probabilityChange);
}

/// True if the scores are those of all scored tokens of a chunk, in their order.
bool areOfChunk(const std::vector<TokenScore>& scores, std::size_t chunk, const EvaluationPlan& plan,
                const ScoredText& scored) {
    std::size_t i = 0;
    for (const ScoredRange& range : std::ranges::equal_range(scored.ranges, chunk, {}, &ScoredRange::chunk))
        for (std::size_t at = range.begin; at < range.end; ++at, ++i) {
            if (i == scores.size()) return false;
            const TokenScore& score = scores[i];
            if (score.chunk != chunk || score.position != at % plan.context ||
                score.token != plan.text.tokens[at + 1] || (score.finite && !isFinite(score)))
                return false;
        }
    return i == scores.size();
}

/// True if a part that was read has what the plan asks of a chunk: all scores of a change, or why there are none.
bool fits(const EvaluationPart& part, std::size_t chunk, const EvaluationPlan& plan, const ScoredText& scored) {
    const std::size_t changes = plan.changes.size();
    if (part.scores.size() != changes || part.reasons.size() != changes || part.servedBy.size() != changes)
        return false;
    for (std::size_t i = 0; i < changes; ++i)
        if (part.reasons[i].empty() ? !areOfChunk(part.scores[i], chunk, plan, scored) : !part.scores[i].empty())
            return false;
    return true;
}

/// Compares the logits of scored tokens as they come.
class Comparison {
public:
    Comparison(const EvaluationPlan& plan, Contest& contest, Evaluation& out)
        : plan_(plan), runners_(contest.runners()), vocabulary_(std::size_t(contest.net().vocabulary)), out_(out) {}

    /// Goes behind predictions that are known.
    void skip(const ScoredRange& range) { row_ += range.end - range.begin; }

    /// Predictions of a range in steps of kLogitRows. `begin`: of the group whose hidden states are there.
    Result<void> compare(const ScoredRange& range, std::size_t begin, const Job& job) {
        for (std::size_t first = range.begin; first < range.end; first += kLogitRows) {
            const std::size_t count = std::min(kLogitRows, range.end - first);
            if (auto done = compareRows(range.chunk, first, first - begin, count, job); !done) return done;
        }
        return {};
    }

private:
    /// Predictions after `count` inputs from `first` on, of one chunk; `state`: where their hidden states are.
    Result<void> compareRows(std::size_t chunk, std::size_t first, std::size_t state, std::size_t count,
                             const Job& job) {
        if (auto done = readReference(state, count, job); !done) return done;
        LogitRows rows{row_,
                       std::span(plan_.text.tokens).subspan(first + 1, count),
                       std::span(reference_).first(count * vocabulary_),
                       {},
                       {}};
        if (auto done = show(rows); !done) return done;
        for (std::size_t i = 0; i < plan_.changes.size(); ++i) {
            Runner& runner = runners_[i + 1];
            if (!runner.reason.empty()) continue;
            if (!(*runner.head)(*runner.states, state, count, other_, job)) return cancelledError();
            compareLogits(plan_.text.tokens, plan_.context, chunk, first, count, vocabulary_, reference_, other_,
                          out_.scores[i], plan_.reference ? ReferenceKind::LogProbabilities : ReferenceKind::Logits);
            rows.change = i, rows.other = std::span(other_).first(count * vocabulary_);
            if (auto done = show(rows); !done) return done;
            if (plan_.arrived) plan_.arrived(i, std::span(out_.scores[i]).last(count));
        }
        row_ += count;
        return {};
    }
    Result<void> readReference(std::size_t state, std::size_t count, const Job& job) {
        reference_.resize(kLogitRows * vocabulary_);
        if (plan_.reference)
            return plan_.reference->read(row_, count, std::span(reference_).first(count * vocabulary_));
        if (!(*runners_[0].head)(*runners_[0].states, state, count, reference_, job)) return cancelledError();
        return {};
    }
    Result<void> show(const LogitRows& rows) const { return plan_.compared ? plan_.compared(rows) : Result<void>(); }

    const EvaluationPlan& plan_;
    std::vector<Runner>& runners_;
    std::size_t vocabulary_, row_ = 0;
    std::vector<float> reference_, other_;
    Evaluation& out_;
};

/// Titles of the servers, with the variants that they have used so far.
std::vector<std::string> titlesOf(const EvaluationPlan& plan) {
    std::vector<std::string> out;
    for (const WeightChange& change : plan.changes) out.push_back(change.server ? change.server->title() : "");
    return out;
}

/// Puts the scores of a chunk that are known into the result. A change that has failed there falls out.
void takePart(const EvaluationPart& part, const EvaluationPlan& plan, std::span<Runner> changes, Evaluation& out) {
    for (std::size_t i = 0; i < out.scores.size(); ++i) {
        const auto& scores = part.scores[i];
        if (changes[i].reason.empty()) changes[i].reason = part.reasons[i];
        out.scores[i].insert(out.scores[i].end(), scores.begin(), scores.end());
        if (plan.arrived && !scores.empty()) plan.arrived(i, scores);
    }
    out.servedBy = part.servedBy;
}

/// What has come since the changes had `before` scores.
EvaluationPart partOf(const Evaluation& out, const std::vector<std::size_t>& before, std::span<const Runner> changes) {
    EvaluationPart part;
    for (std::size_t i = 0; i < out.scores.size(); ++i) {
        part.scores.emplace_back(out.scores[i].begin() + std::ptrdiff_t(before[i]), out.scores[i].end());
        part.reasons.push_back(changes[i].reason);
    }
    part.servedBy = out.servedBy;
    return part;
}

} // namespace

Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job) {
    auto contest = Contest::of(model, plan);
    if (!contest) return tl::unexpected(contest.error());
    const auto scored = scoredText(plan.text.tokens, plan.context, plan.chunks, plan.scored, contest->net());
    if (!scored) return tl::unexpected(scored.error());
    const auto inputs = inputsOf(plan.text, scored->inputs, plan.context);
    if (auto fine = checkTokens(inputs, plan.context, contest->net()); !fine) return tl::unexpected(fine.error());
    contest->planFor(scored->chunks);

    Evaluation out;
    out.tokens = scored->inputs, out.chunks = scored->chunks;
    out.scores.resize(plan.changes.size()), out.servedBy = titlesOf(plan);
    if (!plan.reference) {
        const auto matrices = contest->matrices();
        out.matrices = matrices.size(), out.quantizedMatrices = quantizedOf(matrices);
    }
    const auto changes = std::span(contest->runners()).subspan(1);
    Comparison comparison(plan, *contest, out);
    auto range = scored->ranges.begin();
    /// Hands the predictions of a chunk to `use`.
    const auto withRange = [&](std::size_t chunk, const auto& use) -> Result<void> {
        for (; range != scored->ranges.end() && range->chunk <= chunk; ++range)
            if (Result<void> done = use(*range); !done) return done;
        return {};
    };
    const auto skip = [&](const ScoredRange& known) -> Result<void> {
        comparison.skip(known);
        return {};
    };
    const auto fitsChunk = [&](const EvaluationPart& part, std::size_t at) { return fits(part, at, plan, *scored); };
    auto units = ChunkUnits<EvaluationPart>::of(*model, plan, scored->chunks, fitsChunk, job);
    if (!units) return tl::unexpected(units.error());
    std::size_t chunk = 0;
    const auto takeKnown = [&](std::size_t end) {
        for (; chunk < end; ++chunk)
            if (const auto part = units->take(chunk)) takePart(*part, plan, changes, out);
        if (end > 0) (void)withRange(end - 1, skip);
    };
    const auto groups = units->groups(contest->chunksOfGroup());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        takeKnown(groups[g].begin);
        const std::size_t begin = chunk * plan.context, end = std::min(groups[g].end * plan.context, inputs.size());
        if (auto done = contest->pass(std::span(inputs).subspan(begin, end - begin), {g, groups.size()}, job); !done)
            return tl::unexpected(done.error());
        for (; chunk < groups[g].end; ++chunk) {
            std::vector<std::size_t> before;
            for (const auto& scores : out.scores) before.push_back(scores.size());
            const auto compare = [&](const ScoredRange& one) { return comparison.compare(one, begin, job); };
            if (auto done = withRange(chunk, compare); !done) return tl::unexpected(done.error());
            out.servedBy = titlesOf(plan);
            const auto part = [&] { return partOf(out, before, changes); };
            if (auto kept = units->keep(chunk, part); !kept) return tl::unexpected(kept.error());
        }
        contest->leaveGroup();
    }
    takeKnown(scored->chunks);
    for (const Runner& runner : changes) out.reasons.push_back(runner.reason);
    for (std::size_t i = 0; i < out.scores.size(); ++i)
        if (!out.reasons[i].empty())
            out.scores[i].clear();
        else if (!out.scores[i].empty() && std::ranges::none_of(out.scores[i], &TokenScore::finite))
            out.reasons[i] = "No logit is a finite number.";
    return out;
}

} // namespace qs::eval
