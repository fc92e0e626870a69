// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The test of a plan against chance: its KL beside uniform specs, rules of thumb and random plans of equal bytes, all
// measured on the same chunks of text.

#include "core/eval/run/evaluate.h"
#include "core/eval/scores/paired.h"
#include "core/plan/chance.h"
#include "core/plan/known_recipe.h"

namespace qs::plan {

/// Session files hold the numbers: a new kind goes to the end.
/// Permuted and Random are drawn: chance.
enum class ContenderKind { Plan, Uniform, Heuristic, Permuted, Random, Recipe };
constexpr int kContenderKinds = 6;
const char* titleOf(ContenderKind kind);
inline bool isDrawn(ContenderKind kind) { return kind == ContenderKind::Permuted || kind == ContenderKind::Random; }

struct Contender {
    ContenderKind kind = ContenderKind::Plan;
    Mixture mixture;
    std::optional<eval::ScoreSummary> summary;
    std::string reason;                                ///< why there are no figures
    std::optional<eval::PairedDifference> againstPlan; ///< its KL minus that of the plan; none for the plan itself
    /// It has its figures, or a reason why it has none.
    bool isMeasured() const { return summary || !reason.empty(); }
};

struct PlanProof {
    std::size_t tokens = 0, chunks = 0; ///< inputs
    std::vector<Contender> contenders;  ///< the plan first, then recipes
    std::optional<Chance> permuted, random;
    /// Of each contender, for more draws; empty in a proof that comes from a file.
    std::vector<std::shared_ptr<const std::vector<eval::TokenScore>>> scores = {};
    /// What the plan is compared with: recipes, uniform specs and rules of thumb, or, `drawn`, plans made by chance.
    std::vector<Contender> others(bool drawn) const;
    std::size_t draws() const;    ///< of each kind that were asked for
    std::size_t measured() const; ///< contenders that were measured: all, unless the request had a limit
    bool isWhole() const { return measured() == contenders.size(); }
    /// Sentences on what was found: against each kind of chance, the best uniform spec and each recipe.
    std::vector<std::string> verdicts;
};

constexpr std::size_t kUsualDraws = 19; ///< of each kind: they can show p = 0.05

struct ProofRequest {
    std::shared_ptr<const Model> model;
    const Options* options = nullptr;
    std::vector<TensorRule> locks;
    Mixture plan;
    Budget budget;                         ///< for uniform specs and rules of thumb; its time for draws too
    std::size_t draws = kUsualDraws;       ///< of each kind of chance
    eval::EvaluationPlan text;             ///< chunks that no loss was measured on, and their units
    std::vector<KnownRecipe> recipes = {}; ///< to measure too, whatever their size
    std::size_t most =
        0; ///< contenders to measure now; the others stay without figures, and moreDraws() goes on. 0: all
};
/// The tokens behind the first `used` chunks, on which losses were measured. Error: too few are left.
Result<eval::EvaluationPlan> heldOut(const eval::EvaluationText& text, std::size_t context, std::size_t used,
                                     std::size_t chunks);
/// The first kUsualDraws draws are measured together, then the others: with units a proof of more draws finds the first.
/// With a limit (ProofRequest::most) there are only the first.
/// If units are left out, the result has contenders without figures. Errors: those of evaluate().
Result<PlanProof> provePlan(const ProofRequest& request, const Job& job);
/// The proof of the same request with fewer draws, or one that a limit has cut short, goes on: only what it lacks is
/// measured, and the result is that of provePlan(). A proof without scores, or of other tokens, begins anew.
Result<PlanProof> moreDraws(const ProofRequest& request, const PlanProof& before, const Job& job);

const Columns<Contender>& contenderColumns();

/// What was found against one kind of chance.
struct ChanceRow {
    std::string kind; ///< titleOf() its draws
    Chance chance;
    std::string words; ///< the verdict, as in PlanProof::verdicts
};
/// One row for each kind that has draws.
std::vector<ChanceRow> chanceRows(const PlanProof& proof);
const Columns<ChanceRow>& chanceColumns();

} // namespace qs::plan
