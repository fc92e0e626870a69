// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/proof.h"

#include "core/base/text.h"
#include "core/plan/heuristic.h"
#include "core/records/unit_run.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::plan {
namespace {

std::vector<Contender> contendersOf(const ProofRequest& request) {
    const Options& options = *request.options;
    std::vector<Contender> out{{ContenderKind::Plan, request.plan, {}, {}, {}}};
    const auto add = [&](ContenderKind kind, Mixture mixture) {
        out.push_back({kind, std::move(mixture), {}, {}, {}});
    };
    for (const KnownRecipe& recipe : request.recipes) add(ContenderKind::Recipe, recipe.mixture);
    for (Mixture& mixture : uniformMixtures(options, request.budget)) add(ContenderKind::Uniform, std::move(mixture));
    for (const Heuristic& rule : heuristics())
        if (auto mixture = heuristicMixture(rule, options, request.budget))
            add(ContenderKind::Heuristic, std::move(*mixture));
    for (std::size_t draw = 1; draw <= request.draws; ++draw)
        add(ContenderKind::Permuted, permutedMixture(request.plan, options, draw));
    for (std::size_t draw = 1; draw <= request.draws; ++draw)
        if (auto mixture = randomMixture(request.plan, options, draw)) add(ContenderKind::Random, std::move(*mixture));
    return out;
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

Result<PlanProof> provePlan(const ProofRequest& request, const Job& job) {
    PlanProof out;
    out.contenders = contendersOf(request);
    eval::EvaluationPlan plan = request.text;
    plan.changes.clear();
    auto recipe = request.recipes.begin();
    for (const Contender& one : out.contenders) {
        const std::string& name = one.mixture.name;
        const bool isRecipe = one.kind == ContenderKind::Recipe;
        plan.changes.push_back(eval::quantizedBy(
            name, name, isRecipe ? (recipe++)->specs : specsOf(one.mixture, *request.options, request.locks)));
    }
    auto measured = eval::evaluate(request.model, plan, job);
    if (!measured) return tl::unexpected(measured.error());
    out.tokens = measured->tokens, out.chunks = measured->chunks;
    if (plan.units && !plan.units->isWhole()) return out;
    const auto& scores = measured->scores;
    std::vector<std::vector<eval::TokenScore>> permuted, random;
    for (std::size_t i = 0; i < out.contenders.size(); ++i) {
        Contender& one = out.contenders[i];
        one.reason = measured->reasons[i];
        if (!one.reason.empty()) continue;
        one.summary = eval::summarize(scores[i]);
        if (i > 0 && out.contenders.front().summary) one.againstPlan = eval::pairedDifference(scores[0], scores[i]);
        if (one.kind == ContenderKind::Permuted) permuted.push_back(scores[i]);
        if (one.kind == ContenderKind::Random) random.push_back(scores[i]);
    }
    if (!out.contenders.front().summary) return out;
    out.permuted = againstChance(scores[0], permuted), out.random = againstChance(scores[0], random);
    for (ChanceRow& row : chanceRows(out)) out.verdicts.push_back(std::move(row.words));
    const Contender* best = nullptr;
    for (const Contender& one : out.contenders)
        if (one.kind == ContenderKind::Uniform && one.summary && one.againstPlan &&
            (!best || one.summary->divergence.mean < best->summary->divergence.mean))
            best = &one;
    if (best) out.verdicts.push_back(verdictOnOther(*best, out.contenders.front()));
    for (const Contender& one : out.contenders)
        if (one.kind == ContenderKind::Recipe && one.againstPlan)
            out.verdicts.push_back(verdictOnOther(one, out.contenders.front()));
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
        {{"bytes", "Size", "B", Show::Bytes, 0, Direction::LowerIsBetter, "Bytes of the whole file."},
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
        {{"top1", "Same top token", "%", Show::Percent, 2, Direction::HigherIsBetter,
          "Share of tokens at which both models have the same most likely token."},
         figure([](const auto& s) { return s.sameTop.mean; })},
        {{"difference", "KL - plan", "nats", Show::Significant, 3, Direction::None,
          "Mean of its KL minus the plan's, token by token. Above 0: the plan is better."},
         paired([](const auto& p) { return p.difference.mean; })},
        {{"difference_low", "Low", "nats", Show::Significant, 3, Direction::None, "95 % interval of the difference."},
         paired([](const auto& p) { return p.low; })},
        {{"difference_high", "High", "nats", Show::Significant, 3, Direction::None, "95 % interval of the difference."},
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
