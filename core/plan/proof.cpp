// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/proof.h"

#include "core/base/text.h"
#include "core/plan/heuristic.h"
#include "core/records/unit_run.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace qs::plan {
namespace {

void add(std::vector<Contender>& all, ContenderKind kind, Mixture mixture) {
    all.push_back({kind, std::move(mixture), {}, {}, {}});
}

/// All but the draws.
std::vector<Contender> fixedContenders(const ProofRequest& request) {
    const Options& options = *request.options;
    std::vector<Contender> out;
    add(out, ContenderKind::Plan, request.plan);
    for (const KnownRecipe& recipe : request.recipes) add(out, ContenderKind::Recipe, recipe.mixture);
    for (Mixture& mixture : uniformMixtures(options, request.budget))
        add(out, ContenderKind::Uniform, std::move(mixture));
    for (const Heuristic& rule : heuristics())
        if (auto mixture = heuristicMixture(rule, options, request.budget))
            add(out, ContenderKind::Heuristic, std::move(*mixture));
    return out;
}

/// The draws behind the first `from` of each kind, up to `to`.
void addDraws(std::vector<Contender>& all, const ProofRequest& request, std::size_t from, std::size_t to) {
    const MostTime most = request.budget.ns;
    for (std::size_t draw = from + 1; draw <= to; ++draw)
        add(all, ContenderKind::Permuted, permutedMixture(request.plan, *request.options, draw, most));
    for (std::size_t draw = from + 1; draw <= to; ++draw)
        if (auto mixture = randomMixture(request.plan, *request.options, draw, most))
            add(all, ContenderKind::Random, std::move(*mixture));
}

/// "Against 19 shuffles of its own specs: KL is 0.62 of their median (0.55 to 0.70); rank p = 0.05."
std::string verdictOn(const char* what, const Chance& chance) {
    std::string text = fmt::format("Against {} {}: the plan's KL is {:.3g} of their median", chance.draws, what,
                                   std::exp(chance.effect));
    if (std::isfinite(chance.low))
        text += fmt::format(" (95 % interval {:.3g} to {:.3g})", std::exp(chance.low), std::exp(chance.high));
    text += fmt::format("; rank p = {:.3g}.", chance.rank);
    if (chance.isInside()) return text + " It is inside the random band: no better than chance by this text.";
    if (chance.effect >= 0) return text + " It is worse than chance.";
    if (chance.notWorse == 0) return text + " It is better than every one of them.";
    return text + fmt::format(" It is better than the median, but {} of them {} as good or better.", chance.notWorse,
                              chance.notWorse == 1 ? "is" : "are");
}

std::string verdictOnOther(const Contender& other, const Contender& plan) {
    const auto& paired = *other.againstPlan;
    constexpr double mib = 1 << 20;
    std::string text =
        fmt::format("Against {} ({:.2f} MiB to the plan's {:.2f}): its KL is {:.4g} nats, the plan's {:.4g}",
                    escapeForPeople(other.mixture.name, 200), double(other.mixture.bytes) / mib,
                    double(plan.mixture.bytes) / mib, other.summary->divergence.mean, plan.summary->divergence.mean);
    if (!paired.hasInterval) return text + "; one chunk gives no interval.";
    text += fmt::format("; paired difference {:.3g} nats (95 % interval {:.3g} to {:.3g}).", paired.difference.mean,
                        paired.low, paired.high);
    return text + (paired.firstIsBetter()    ? " The plan is better."
                   : paired.secondIsBetter() ? " The plan is worse."
                                             : " No difference shows.");
}

} // namespace

const char* titleOf(ContenderKind kind) {
    switch (kind) {
    case ContenderKind::Plan: return "plan";
    case ContenderKind::Uniform: return "uniform";
    case ContenderKind::Heuristic: return "rule of thumb";
    case ContenderKind::Permuted: return "shuffled plan";
    case ContenderKind::Random: return "random plan";
    case ContenderKind::Recipe: return "recipe";
    }
    return "";
}

Result<eval::EvaluationPlan> heldOut(const eval::EvaluationText& text, std::size_t context, std::size_t used,
                                     std::size_t chunks) {
    eval::EvaluationPlan out;
    out.text = text, out.context = context, out.chunks = chunks;
    const std::size_t skipped = std::min(text.tokens.size(), used * context);
    out.text.tokens.erase(out.text.tokens.begin(), out.text.tokens.begin() + std::ptrdiff_t(skipped));
    if (out.text.tokens.size() < context)
        return fail(
            fmt::format("The text has {} tokens, and {} chunks of {} are used for the losses, so none is left for "
                        "the proof: use a longer text, or fewer chunks for the losses.",
                        text.tokens.size(), used, context),
            text.path);
    return out;
}

namespace {

/// Those that have no figures yet, at most as many as the request wants now.
std::vector<std::size_t> toMeasure(const ProofRequest& request, const PlanProof& proof) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < proof.contenders.size(); ++i)
        if (!proof.contenders[i].isMeasured() && (request.most == 0 || out.size() < request.most)) out.push_back(i);
    return out;
}

/// Measures contenders that have no figures yet.
Result<void> measure(const ProofRequest& request, PlanProof& proof, const std::vector<std::size_t>& which,
                     const Job& job) {
    eval::EvaluationPlan plan = request.text;
    plan.changes.clear();
    for (const std::size_t i : which) {
        const Contender& one = proof.contenders[i];
        const std::string& name = one.mixture.name;
        // recipes stand behind the plan, in the order of the request
        plan.changes.push_back(eval::quantizedBy(name, name,
                                                 one.kind == ContenderKind::Recipe
                                                     ? request.recipes[i - 1].specs
                                                     : specsOf(one.mixture, *request.options, request.locks),
                                                 {.asStored = true}));
    }
    auto measured = eval::evaluate(request.model, plan, job);
    if (!measured) return tl::unexpected(measured.error());
    proof.tokens = measured->tokens, proof.chunks = measured->chunks;
    proof.scores.resize(proof.contenders.size());
    if (plan.units && !plan.units->isWhole()) return {};
    for (std::size_t k = 0; k < which.size(); ++k) {
        const std::size_t i = which[k];
        Contender& one = proof.contenders[i];
        one.reason = measured->reasons[k];
        proof.scores[i] = std::make_shared<const std::vector<eval::TokenScore>>(std::move(measured->scores[k]));
        if (!one.reason.empty()) continue;
        one.summary = eval::summarize(*proof.scores[i]);
        if (i > 0 && proof.contenders.front().summary)
            one.againstPlan = eval::pairedDifference(*proof.scores[0], *proof.scores[i]);
    }
    return {};
}

/// Draws stand behind the others, by kind.
void sortDraws(PlanProof& proof) {
    const auto place = [](ContenderKind kind) {
        return kind == ContenderKind::Random ? 2 : kind == ContenderKind::Permuted ? 1 : 0;
    };
    std::vector<std::size_t> order(proof.contenders.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return place(proof.contenders[a].kind) < place(proof.contenders[b].kind);
    });
    PlanProof sorted;
    for (const std::size_t i : order) {
        sorted.contenders.push_back(std::move(proof.contenders[i]));
        sorted.scores.push_back(std::move(proof.scores[i]));
    }
    proof.contenders = std::move(sorted.contenders), proof.scores = std::move(sorted.scores);
}

/// Sets what the measured contenders say of chance.
void judge(PlanProof& proof) {
    proof.verdicts.clear();
    if (!proof.contenders.front().summary) return;
    const auto against = [&](ContenderKind kind) {
        std::vector<std::vector<eval::TokenScore>> draws;
        for (std::size_t i = 0; i < proof.contenders.size(); ++i)
            if (proof.contenders[i].kind == kind && proof.contenders[i].summary) draws.push_back(*proof.scores[i]);
        return againstChance(*proof.scores[0], draws);
    };
    proof.permuted = against(ContenderKind::Permuted), proof.random = against(ContenderKind::Random);
    for (ChanceRow& row : chanceRows(proof)) proof.verdicts.push_back(std::move(row.words));
    const Contender* best = nullptr;
    for (const Contender& one : proof.contenders)
        if (one.kind == ContenderKind::Uniform && one.summary && one.againstPlan &&
            (!best || one.summary->divergence.mean < best->summary->divergence.mean))
            best = &one;
    if (best) proof.verdicts.push_back(verdictOnOther(*best, proof.contenders.front()));
    for (const Contender& one : proof.contenders)
        if (one.kind == ContenderKind::Recipe && one.againstPlan)
            proof.verdicts.push_back(verdictOnOther(one, proof.contenders.front()));
    if (!proof.isWhole())
        proof.verdicts.push_back(fmt::format("{} of {} plans are measured: the test is not complete.", proof.measured(),
                                             proof.contenders.size()));
}

} // namespace

std::size_t PlanProof::draws() const {
    return std::size_t(
        std::ranges::count_if(contenders, [](const Contender& one) { return one.kind == ContenderKind::Permuted; }));
}

std::size_t PlanProof::measured() const {
    return std::size_t(std::ranges::count_if(contenders, &Contender::isMeasured));
}

Result<PlanProof> provePlan(const ProofRequest& request, const Job& job) {
    PlanProof out;
    const std::size_t first = std::min(request.draws, kUsualDraws);
    out.contenders = fixedContenders(request);
    addDraws(out.contenders, request, 0, first);
    if (auto done = measure(request, out, toMeasure(request, out), job); !done) return tl::unexpected(done.error());
    if (request.draws > first && request.most == 0) {
        const std::size_t known = out.contenders.size();
        addDraws(out.contenders, request, first, request.draws);
        std::vector<std::size_t> more(out.contenders.size() - known); // those before may have been left out
        std::iota(more.begin(), more.end(), known);
        if (auto done = measure(request, out, more, job); !done) return tl::unexpected(done.error());
        sortDraws(out);
    }
    judge(out);
    return out;
}

Result<PlanProof> moreDraws(const ProofRequest& request, const PlanProof& before, const Job& job) {
    if (before.scores.empty()) return provePlan(request, job);
    PlanProof out = before;
    addDraws(out.contenders, request, before.draws(), request.draws);
    const auto which = toMeasure(request, out);
    if (which.empty()) return out;
    if (auto done = measure(request, out, which, job); !done) return tl::unexpected(done.error());
    const auto& newest = out.scores[which.back()];
    if (newest && newest->size() != out.scores.front()->size()) return provePlan(request, job); // another text
    sortDraws(out);
    judge(out);
    return out;
}

std::vector<Contender> PlanProof::others(bool drawn) const {
    std::vector<Contender> out;
    for (const Contender& one : contenders)
        if (one.kind != ContenderKind::Plan && isDrawn(one.kind) == drawn) out.push_back(one);
    return out;
}

const Columns<Contender>& contenderColumns() {
    using Row = Contender;
    const auto figure = [](auto read) {
        return [read](const Row& r) -> Value { return r.summary ? Value(read(*r.summary)) : Value(); };
    };
    const auto paired = [](auto read) {
        return [read](const Row& r) -> Value {
            return r.againstPlan && r.againstPlan->hasInterval ? Value(read(*r.againstPlan)) : Value();
        };
    };
    static const Columns<Row> columns{
        {{"name", "Contender", "", Show::Text, 0, Direction::None, "The plan, or what it is compared with."},
         [](const Row& r) -> Value { return r.mixture.name; }},
        {{"kind", "Kind", "", Show::Text, 0, Direction::None, "What kind of plan it is."},
         [](const Row& r) -> Value { return std::string(titleOf(r.kind)); }},
        {{"bytes", "Size", "", Show::Bytes, 0, Direction::LowerIsBetter, "Bytes of the whole file."},
         [](const Row& r) -> Value { return std::int64_t(r.mixture.bytes); }},
        {{"loss", "Predicted loss", "", Show::Scientific, 3, Direction::LowerIsBetter,
          "The sum that the plan makes least. A prediction, not a measurement. None: it lacks tensors."},
         [](const Row& r) -> Value { return r.mixture.unmeasured == 0 ? Value(r.mixture.loss) : Value(); }},
        {{"kl_mean", "KL", "nats", Show::Significant, 4, Direction::LowerIsBetter,
          "Mean KL to the stored model, measured on chunks that no loss was measured on."},
         figure([](const auto& s) { return s.divergence.mean; })},
        {{"kl_se_chunk", "SE of KL", "nats", Show::Significant, 2, Direction::None,
          "Standard error, clustered by chunk."},
         [](const Row& r) -> Value {
             return r.summary && r.summary->divergence.byChunk ? Value(*r.summary->divergence.byChunk) : Value();
         }},
        {{"top1", "Same top token", "", Show::Percent, 2, Direction::HigherIsBetter,
          "Share of tokens at which both models have the same most likely token."},
         figure([](const auto& s) { return s.sameTop.mean; })},
        {{"difference", "KL - plan", "nats", Show::Significant, 3, Direction::None,
          "Mean of its KL minus the plan's, token by token. Above 0: the plan is better.", false},
         paired([](const auto& p) { return p.difference.mean; })},
        {{"difference_low", "Low", "nats", Show::Significant, 3, Direction::None, "95 % interval of the difference.",
          false},
         paired([](const auto& p) { return p.low; })},
        {{"difference_high", "High", "nats", Show::Significant, 3, Direction::None, "95 % interval of the difference.",
          false},
         paired([](const auto& p) { return p.high; })},
        {{"reason", "Reason", "", Show::Text, 0, Direction::None, "Why there are no figures."},
         [](const Row& r) -> Value { return r.reason.empty() ? Value() : Value(r.reason); }}};
    return columns;
}

std::vector<ChanceRow> chanceRows(const PlanProof& proof) {
    std::vector<ChanceRow> rows;
    const auto add = [&](ContenderKind kind, const char* what, const std::optional<Chance>& chance) {
        if (chance) rows.push_back({titleOf(kind), *chance, verdictOn(what, *chance)});
    };
    add(ContenderKind::Permuted, "shuffles of its own specs", proof.permuted);
    add(ContenderKind::Random, "random plans of equal bytes", proof.random);
    return rows;
}

const Columns<ChanceRow>& chanceColumns() {
    using Row = ChanceRow;
    const auto finite = [](double value) { return std::isfinite(value) ? Value(value) : Value(); };
    static const Columns<Row> columns{
        {{"kind", "Chance", "", Show::Text, 0, Direction::None, "How its plans were drawn."},
         [](const Row& r) -> Value { return r.kind; }},
        {{"draws", "Draws", "", Show::Integer, 0, Direction::None, "Plans that were drawn and measured."},
         [](const Row& r) -> Value { return std::int64_t(r.chance.draws); }},
        {{"rank_p", "Rank p", "", Show::Significant, 3, Direction::LowerIsBetter,
          "(1 + draws with no more KL than the plan) / (draws + 1)."},
         [](const Row& r) -> Value { return r.chance.rank; }},
        {{"kl_least", "Least KL", "nats", Show::Significant, 4, Direction::None, "Of the draws, nats a token."},
         [](const Row& r) -> Value { return r.chance.least; }},
        {{"kl_median", "Median KL", "nats", Show::Significant, 4, Direction::None, "Of the draws, nats a token."},
         [](const Row& r) -> Value { return r.chance.median; }},
        {{"kl_largest", "Largest KL", "nats", Show::Significant, 4, Direction::None, "Of the draws, nats a token."},
         [](const Row& r) -> Value { return r.chance.largest; }},
        {{"effect", "Effect", "", Show::Significant, 3, Direction::LowerIsBetter,
          "ln(KL of the plan / median KL of the draws). Below 0: the plan is better."},
         [=](const Row& r) -> Value { return finite(r.chance.effect); }},
        {{"low", "Low", "", Show::Significant, 3, Direction::None,
          "95 % interval of the effect, over samples of the chunks."},
         [=](const Row& r) -> Value { return finite(r.chance.low); }},
        {{"high", "High", "", Show::Significant, 3, Direction::None, "The other end of the interval."},
         [=](const Row& r) -> Value { return finite(r.chance.high); }},
        {{"words", "In words", "", Show::Text, 0, Direction::None, "What the interval and the rank say."},
         [](const Row& r) -> Value { return r.words; }}};
    return columns;
}

} // namespace qs::plan
