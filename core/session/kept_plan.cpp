// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_plan.h"

#include "core/export/recipe.h"
#include "core/session/kept_scores.h"

namespace qs {
namespace kept {
namespace {

struct LossKept {
    std::string tensor;
    std::vector<double> values, errors; ///< by spec; not a number: none
};
struct MixtureKept {
    std::string name;
    std::uint64_t bytes = 0;
    double loss = 0, error = 0;
    std::optional<std::size_t> unmeasured; ///< none: 0
};
struct PairedKept {
    std::size_t tokens = 0;
    eval::Estimate difference;
    double low = 0, high = 0;
    bool hasInterval = false;
};
struct ContenderKept {
    int kind = 0;
    MixtureKept mixture;
    std::optional<eval::ScoreSummary> summary;
    std::string reason;
    std::optional<PairedKept> paired;
};
struct ChanceKept {
    std::size_t draws = 0, notWorse = 0;
    double rank = 1, least = 0, median = 0, largest = 0, effect = 0, low = 0, high = 0;
};
struct MeasuredKept {
    std::string objective, path, sha256;
    std::uint64_t budget = 0;
    std::size_t context = 0, lossChunks = 0, tokens = 0, chunks = 0;
    std::vector<ContenderKept> contenders;
    std::optional<ChanceKept> permuted, random;
    std::vector<std::string> verdicts;
};
struct PlannedKept {
    std::vector<std::string> specs, lossSpecs, groups, limits;
    std::string layout, objective;
    std::optional<double> bpw;
    std::optional<std::string> startName, startRules;
    std::optional<std::uint64_t> ns;
    std::optional<std::string> target;
    std::optional<std::uint64_t> targetRows;
    std::size_t lossChunks = 0;
    std::vector<LossKept> losses;
    std::vector<MeasuredKept> measured;
};

template<class Io> void fields(Io& io, LossKept& one) {
    io("tensor", one.tensor);
    io("values", one.values);
    io("errors", one.errors);
}
template<class Io> void fields(Io& io, MixtureKept& one) {
    io("name", one.name);
    io("bytes", one.bytes);
    io("loss", one.loss);
    io("error", one.error);
    io("unmeasured", one.unmeasured);
}
template<class Io> void fields(Io& io, PairedKept& one) {
    io("tokens", one.tokens);
    io("difference", one.difference);
    io("low", one.low);
    io("high", one.high);
    io.flag("has_interval", one.hasInterval);
}
template<class Io> void fields(Io& io, ContenderKept& one) {
    io("kind", one.kind);
    io("mixture", one.mixture);
    io("summary", one.summary);
    io("reason", one.reason);
    io("paired", one.paired);
}
template<class Io> void fields(Io& io, ChanceKept& one) {
    io("draws", one.draws);
    io("not_worse", one.notWorse);
    io("rank", one.rank);
    io("least", one.least);
    io("median", one.median);
    io("largest", one.largest);
    io("effect", one.effect);
    io("low", one.low);
    io("high", one.high);
}
template<class Io> void fields(Io& io, MeasuredKept& one) {
    io("objective", one.objective);
    io("path", one.path);
    io("sha256", one.sha256);
    io("budget", one.budget);
    io("context", one.context);
    io("loss_chunks", one.lossChunks);
    io("tokens", one.tokens);
    io("chunks", one.chunks);
    io("contenders", one.contenders);
    io("permuted", one.permuted);
    io("random", one.random);
    io("verdicts", one.verdicts);
}
template<class Io> void fields(Io& io, PlannedKept& all) {
    io("specs", all.specs);
    io("loss_specs", all.lossSpecs);
    io("groups", all.groups);
    io("limits", all.limits);
    io("layout", all.layout);
    io("objective", all.objective);
    io("bpw", all.bpw);
    io("start_name", all.startName);
    io("start_rules", all.startRules);
    io("ns", all.ns);
    io("target", all.target);
    io("target_rows", all.targetRows);
    io("loss_chunks", all.lossChunks);
    io("losses", all.losses);
    io("measured", all.measured);
}

/// An interval of one chunk is infinite, which JSON does not know: it is kept as not a number.
double unbounded(double value, double sign) { return std::isnan(value) ? sign * INFINITY : value; }
double bounded(double value) { return std::isinf(value) ? std::nan("") : value; }

std::optional<ChanceKept> keep(const std::optional<plan::Chance>& c) {
    if (!c) return {};
    return ChanceKept{c->draws,   c->notWorse, c->rank,         c->least,        c->median,
                      c->largest, c->effect,   bounded(c->low), bounded(c->high)};
}

std::optional<plan::Chance> back(const std::optional<ChanceKept>& c) {
    if (!c) return {};
    return plan::Chance{c->draws,
                        c->notWorse,
                        c->rank,
                        c->least,
                        c->median,
                        c->largest,
                        c->effect,
                        unbounded(c->low, -1.0),
                        unbounded(c->high, 1.0)};
}

MeasuredKept keep(const plan::MeasuredPlan& one) {
    const plan::PlanProof& proof = *one.proof;
    MeasuredKept out{one.objective,      one.textPath,  one.textSha256, one.budget, one.context,
                     one.lossChunks,     proof.tokens,  proof.chunks,   {},         keep(proof.permuted),
                     keep(proof.random), proof.verdicts};
    for (const plan::Contender& c : proof.contenders) {
        std::optional<PairedKept> paired;
        if (const auto& p = c.againstPlan) paired = {p->tokens, p->difference, p->low, p->high, p->hasInterval};
        out.contenders.push_back(
            {int(c.kind),
             {c.mixture.name, c.mixture.bytes, c.mixture.loss, c.mixture.error, c.mixture.unmeasured},
             c.summary,
             c.reason,
             paired});
    }
    return out;
}

bool isSound(const ContenderKept& c) {
    return c.kind >= 0 && c.kind < plan::kContenderKinds && std::isfinite(c.mixture.loss) &&
           isMeasure(c.mixture.error) && areWords({&c.mixture.name, &c.reason}) &&
           (!c.summary || isSummary(*c.summary)) &&
           (!c.paired ||
            (isEstimate(c.paired->difference) && std::isfinite(c.paired->low) && std::isfinite(c.paired->high)));
}

bool isSound(const MeasuredKept& one) {
    if (one.contenders.empty() || one.contenders.front().kind != int(plan::ContenderKind::Plan) ||
        one.contenders.size() > 10'000 || !areWords({&one.objective, &one.path, &one.sha256}))
        return false;
    for (const auto& chance : {one.permuted, one.random})
        if (chance && !(std::isfinite(chance->effect) && std::isfinite(chance->median) && chance->rank >= 0 &&
                        chance->rank <= 1 && std::isfinite(chance->least) && std::isfinite(chance->largest)))
            return false;
    for (const std::string& verdict : one.verdicts)
        if (!areWords({&verdict})) return false;
    return std::ranges::all_of(one.contenders, [](const auto& c) { return isSound(c); });
}

plan::MeasuredPlan back(MeasuredKept&& one) {
    auto proof = std::make_shared<plan::PlanProof>();
    proof->tokens = one.tokens, proof->chunks = one.chunks;
    proof->permuted = back(one.permuted), proof->random = back(one.random), proof->verdicts = std::move(one.verdicts);
    for (ContenderKept& c : one.contenders) {
        plan::Contender contender;
        contender.kind = plan::ContenderKind(c.kind), contender.summary = std::move(c.summary);
        contender.mixture.name = std::move(c.mixture.name), contender.mixture.bytes = c.mixture.bytes;
        contender.mixture.loss = c.mixture.loss, contender.mixture.error = c.mixture.error;
        contender.mixture.unmeasured = c.mixture.unmeasured.value_or(0);
        contender.reason = std::move(c.reason);
        if (const auto& p = c.paired)
            contender.againstPlan = eval::PairedDifference{p->tokens, p->difference, p->low, p->high, p->hasInterval};
        proof->contenders.push_back(std::move(contender));
    }
    return {one.objective, one.budget, one.path, one.sha256, one.context, one.lossChunks, std::move(proof)};
}

} // namespace
} // namespace kept

std::string keptPlan(const KeptPlan& plan) {
    kept::PlannedKept all;
    for (const QuantSpec& spec : plan.specs) all.specs.push_back(specText(spec));
    for (const QuantSpec& spec : plan.losses.specs) all.lossSpecs.push_back(specText(spec));
    all.groups = plan.groups, all.layout = plan.layout, all.objective = plan.objective, all.bpw = plan.bpw;
    for (const plan::SizeLimit& limit : plan.limits) all.limits.push_back(plan::limitText(limit));
    all.ns = plan.ns, all.target = plan.target, all.targetRows = plan.targetRows;
    all.lossChunks = plan.lossChunks;
    if (!plan.startName.empty()) all.startName = plan.startName, all.startRules = plan.startRules;
    for (const auto& [tensor, losses] : plan.losses.of) {
        kept::LossKept one{tensor, {}, {}};
        for (const auto& loss : losses) {
            one.values.push_back(loss ? loss->mean : std::nan(""));
            one.errors.push_back(loss && loss->byChunk ? *loss->byChunk : std::nan(""));
        }
        all.losses.push_back(std::move(one));
    }
    for (const auto& one : plan.measured) all.measured.push_back(kept::keep(one));
    return kept::textOf(all);
}

Result<KeptPlan> planKept(const std::string& text) {
    auto all = kept::fromText<kept::PlannedKept>(text);
    const auto damaged = [](const std::string& why) { return fail("the kept plan is damaged: " + why); };
    if (!all) return damaged(all.error());
    KeptPlan out;
    for (const auto& [texts, specs] : {std::pair(&all->specs, &out.specs), {&all->lossSpecs, &out.losses.specs}})
        for (const std::string& one : *texts) {
            auto spec = parseSpec(one);
            if (!spec) return damaged("a spec");
            specs->push_back(std::move(*spec));
        }
    if (!plan::findObjective(all->objective) || (all->bpw && !(*all->bpw > 0 && *all->bpw <= 1000)) ||
        (all->target && !kept::areWords({&*all->target})) ||
        (all->targetRows && (*all->targetRows < 1 || *all->targetRows > 1 << 30)) ||
        !kept::areWords({&all->layout, &all->objective}))
        return damaged("its settings");
    for (const std::string& group : all->groups)
        if (!kept::areWords({&group})) return damaged("its settings");
    for (const std::string& text : all->limits) {
        auto limit = plan::parseLimit(text);
        if (!limit || !kept::areWords({&limit->regex})) return damaged("a limit");
        out.limits.push_back(std::move(*limit));
    }
    out.layout = all->layout, out.objective = all->objective, out.groups = all->groups, out.bpw = all->bpw;
    out.ns = all->ns, out.target = all->target, out.targetRows = all->targetRows;
    out.lossChunks = all->lossChunks;
    out.startName = all->startName.value_or(std::string()), out.startRules = all->startRules.value_or(std::string());
    if (!kept::areWords({&out.startName}) || !parseRules(out.startRules)) return damaged("the recipe it began from");
    for (const kept::LossKept& one : all->losses) {
        if (one.values.size() > out.losses.specs.size() || one.errors.size() != one.values.size())
            return damaged("losses of a tensor");
        auto& row = out.losses.of[one.tensor];
        for (std::size_t i = 0; i < one.values.size(); ++i) {
            const double value = one.values[i], error = one.errors[i];
            if (std::isinf(value) || std::isinf(error) || error < 0) return damaged("losses of a tensor");
            row.emplace_back();
            if (!std::isnan(value))
                row.back() = eval::Estimate{value, {}, std::isnan(error) ? std::nullopt : std::optional(error)};
        }
    }
    for (kept::MeasuredKept& one : all->measured) {
        if (!kept::isSound(one)) return damaged("a measured plan");
        out.measured.push_back(kept::back(std::move(one)));
    }
    return out;
}

} // namespace qs
