// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_evidence.h"

#include "core/session/kept_scores.h"

#include <algorithm>

namespace qs {
namespace kept {
namespace {

struct ProfileKept {
    std::vector<eval::RunningPoint> running;
    std::vector<std::uint64_t> bins;
    std::uint64_t below = 0, above = 0;
    std::vector<eval::PositionRange> positions;
    std::vector<eval::TokenScore> worst;
};
struct ChangeKept {
    std::string spec, reason;
    std::optional<std::string> servedBy; ///< none: our own f32 kernels
    std::optional<int> kind;             ///< eval::RowKind; none: a spec
    std::optional<eval::ScoreSummary> summary;
    ProfileKept profile;
    std::vector<eval::TokenInText> texts;
    std::optional<double> floor; ///< noise floor
    std::optional<eval::ChangedSize> size;
};
struct EmbeddingKept {
    std::string spec, reason;
    std::vector<double> cosines;
    std::optional<eval::ChangedSize> size;
};
struct EmbeddingsKept {
    std::vector<EmbeddingKept> specs;
};
struct EvidenceKept {
    std::string path, sha256;
    bool ids = false, all = false;
    std::size_t context = 0, wanted = 0, tokens = 0, chunks = 0;
    double seconds = 0;
    std::vector<ChangeKept> changes;
    std::optional<std::size_t> matrices, quantized; ///< none: of an earlier version, which did not count them
    std::optional<EmbeddingsKept> embeddings;       ///< none: it is no encoder
};

struct BegunKept {
    BegunEvaluation of;
    bool all = false;
};

bool isProfile(const ProfileKept& profile, std::size_t context) {
    if (profile.bins.size() != eval::kBins || profile.running.size() > eval::kRunningPoints + 1 ||
        profile.worst.size() > eval::kWorstTokens)
        return false;
    std::size_t before = 0;
    for (const auto& point : profile.running)
        if (point.tokens <= std::exchange(before, point.tokens) || !isEstimate(point.divergence)) return false;
    before = 0;
    for (const auto& range : profile.positions)
        if (range.begin < std::exchange(before, range.end) || range.end <= range.begin || range.end > context ||
            !isEstimate(range.divergence))
            return false;
    return std::ranges::all_of(profile.worst, [](const eval::TokenScore& score) {
        return std::isfinite(score.divergence) && std::isfinite(score.nll) && std::isfinite(score.referenceNll);
    });
}

/// Those that are finite; a sum in f64 may reach beyond 1 by its rounding.
bool areCosines(const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double one) { return !(std::fabs(one) > 1 + 1e-9); });
}

} // namespace
} // namespace kept

namespace eval { // where the fields are looked for

template<class Io> static void fields(Io& io, RunningPoint& point) {
    io("tokens", point.tokens);
    io("kld", point.divergence);
}
template<class Io> static void fields(Io& io, PositionRange& range) {
    io("begin", range.begin);
    io("end", range.end);
    io("tokens", range.tokens);
    io("kld", range.divergence);
}
template<class Io> static void fields(Io& io, TokenScore& score) {
    io("token", score.token);
    io("chunk", score.chunk);
    io("position", score.position);
    io("reference_nll", score.referenceNll);
    io("nll", score.nll);
    io("kld", score.divergence);
    io("dp", score.probabilityChange);
    io("same_top", score.sameTop);
}
template<class Io> static void fields(Io& io, TokenInText& text) {
    io("before", text.before);
    io("token", text.token);
    io("after", text.after);
}
template<class Io> static void fields(Io& io, ChangedSize& size) {
    io("matrices", size.matrices);
    io("elements", size.elements);
    io("bytes", size.bytes);
    io("all_elements", size.allElements);
    io("all_bytes", size.allBytes);
}
} // namespace eval

namespace kept {

template<class Io> static void fields(Io& io, ProfileKept& profile) {
    io("running", profile.running);
    io("bins", profile.bins);
    io("below", profile.below);
    io("above", profile.above);
    io("positions", profile.positions);
    io("worst", profile.worst);
}
template<class Io> static void fields(Io& io, ChangeKept& change) {
    io("spec", change.spec);
    io("reason", change.reason);
    io("served_by", change.servedBy);
    io("kind", change.kind);
    io("summary", change.summary);
    io("profile", change.profile);
    io("texts", change.texts);
    io("floor", change.floor);
    io("size", change.size);
}
template<class Io> static void fields(Io& io, EmbeddingKept& one) {
    io("spec", one.spec);
    io("reason", one.reason);
    io("cosines", one.cosines);
    io("size", one.size);
}
template<class Io> static void fields(Io& io, EmbeddingsKept& all) { io("specs", all.specs); }
template<class Io> static void fields(Io& io, EvidenceKept& all) {
    io("path", all.path);
    io("sha256", all.sha256);
    io("ids", all.ids);
    io("all", all.all);
    io("context", all.context);
    io("wanted", all.wanted);
    io("tokens", all.tokens);
    io("chunks", all.chunks);
    io("seconds", all.seconds);
    io("changes", all.changes);
    io("matrices", all.matrices);
    io("quantized_matrices", all.quantized);
    io("embeddings", all.embeddings);
}

template<class Io> static void fields(Io& io, BegunKept& all) {
    io("path", all.of.path);
    io("base", all.of.base);
    io("backend", all.of.backend);
    io("ids", all.of.ids);
    io("recipe", all.of.recipe);
    io("all", all.all);
    io("context", all.of.context);
    io("wanted", all.of.chunks);
    io("specs", all.of.specs);
    io("how", all.of.how);
}

} // namespace kept

std::string keptEvidence(const eval::EvaluationRecord& record) {
    kept::EvidenceKept all{record.textPath, record.textSha256,
                           record.ids,      record.scored == eval::Scored::All,
                           record.context,  record.wanted,
                           record.tokens,   record.chunks,
                           record.seconds,  {},
                           record.matrices, record.quantizedMatrices,
                           std::nullopt};
    for (const auto& change : record.changes) {
        const auto& p = change.profile;
        all.changes.push_back({change.row.spec,
                               change.row.reason,
                               change.row.servedBy.empty() ? std::nullopt : std::optional(change.row.servedBy),
                               int(change.row.kind),
                               change.row.summary,
                               {p.running, {p.bins.begin(), p.bins.end()}, p.below, p.above, p.positions, p.worst},
                               change.worst,
                               change.row.floor,
                               change.row.size});
    }
    if (!record.embeddings.empty()) all.embeddings.emplace();
    for (const auto& one : record.embeddings)
        all.embeddings->specs.push_back({one.row.spec, one.row.reason, one.cosines, one.row.size});
    return kept::textOf(all);
}

Result<eval::EvaluationRecord> evidenceKept(const std::string& text) {
    auto all = kept::fromText<kept::EvidenceKept>(text);
    if (!all) return fail("the kept evaluation is damaged: " + all.error());
    if (all->context < 2 || !kept::isMeasure(all->seconds)) return fail("the kept evaluation is damaged: its settings");
    eval::EvaluationRecord record;
    record.textPath = all->path, record.textSha256 = all->sha256, record.ids = all->ids;
    record.context = all->context, record.wanted = all->wanted;
    record.scored = all->all ? eval::Scored::All : eval::Scored::SecondHalf;
    record.tokens = all->tokens, record.chunks = all->chunks, record.seconds = all->seconds;
    for (auto& change : all->changes) {
        auto& p = change.profile;
        if (!kept::isProfile(p, all->context) || change.texts.size() != p.worst.size() ||
            (change.summary && !kept::isSummary(*change.summary)) ||
            !kept::areWords({&change.spec, &change.reason, &record.textPath, &record.textSha256}))
            return fail("the kept evaluation is damaged: figures of a spec");
        eval::RecordedChange one;
        one.row = {change.spec, change.summary, change.reason};
        if (change.servedBy && !kept::areWords({&*change.servedBy}))
            return fail("the kept evaluation is damaged: figures of a spec");
        one.row.servedBy = change.servedBy.value_or("");
        const int kind = change.kind.value_or(0);
        if (kind < 0 || kind > int(eval::RowKind::Against))
            return fail("the kept evaluation is damaged: what was compared");
        one.row.kind = eval::RowKind(kind);
        if (!kept::isMeasure(change.floor)) return fail("the kept evaluation is damaged: its noise floor");
        one.row.floor = change.floor, one.row.size = change.size;
        one.profile.running = std::move(p.running), one.profile.positions = std::move(p.positions);
        one.profile.worst = std::move(p.worst);
        std::copy(p.bins.begin(), p.bins.end(), one.profile.bins.begin());
        one.profile.below = p.below, one.profile.above = p.above;
        one.worst = std::move(change.texts);
        record.changes.push_back(std::move(one));
    }
    record.matrices = all->matrices.value_or(0), record.quantizedMatrices = all->quantized.value_or(0);
    if (record.quantizedMatrices > record.matrices) return fail("the kept evaluation is damaged: its matrices");
    if (all->embeddings)
        for (auto& one : all->embeddings->specs) {
            if (!kept::areWords({&one.spec, &one.reason}) || !kept::areCosines(one.cosines))
                return fail("the kept evaluation is damaged: cosines of a spec");
            auto summary = eval::summarizeCosines(one.cosines);
            record.embeddings.push_back({{one.spec, std::move(summary), one.reason, one.size}, std::move(one.cosines)});
        }
    return record;
}

std::string keptBegun(const BegunEvaluation& begun) {
    return kept::textOf(kept::BegunKept{begun, begun.scored == eval::Scored::All});
}

Result<BegunEvaluation> begunKept(const std::string& text) {
    auto all = kept::fromText<kept::BegunKept>(text);
    if (!all) return fail("the evaluation that had not ended is damaged: " + all.error());
    BegunEvaluation& out = all->of;
    out.scored = all->all ? eval::Scored::All : eval::Scored::SecondHalf;
    bool fine = kept::areWords({&out.path, &out.base, &out.backend, &out.how}) && out.context >= 2;
    for (const std::string& spec : out.specs) fine = fine && kept::areWords({&spec});
    if (!fine) return fail("the evaluation that had not ended is damaged: its settings");
    return std::move(out);
}

} // namespace qs
