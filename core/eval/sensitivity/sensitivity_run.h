// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One measurement of sensitivity while it is made: the network, the text, what is kept, and the runs of changed networks.

#include "core/eval/forward/head.h"
#include "core/eval/sensitivity/borders.h"
#include "core/eval/sensitivity/chunk_scores.h"
#include "core/eval/sensitivity/records.h"
#include "core/eval/sensitivity/sensitivity.h"

namespace qs::eval {

/// A network that differs from its base in some layers.
struct Branch {
    WeightChange change;          ///< of the stored weights, the base's own changes included
    std::set<std::size_t> layers; ///< in which it differs from the base
    std::string key;              ///< everything that makes its scores, besides model, text and program
};

struct BranchResult {
    RunScores scores;
    std::string reason; ///< why there are none; empty: there are
};

class SensitivityRun {
public:
    /// Errors: those of sensitivity().
    static Result<std::unique_ptr<SensitivityRun>> of(std::shared_ptr<const Model> model, const SensitivityPlan& plan,
                                                      const Job& job);

    ~SensitivityRun();

    const SensitivityPlan& plan() const { return plan_; }
    const std::vector<Unit>& units() const { return units_; }
    const Model& model() const { return *model_; }
    const Network& network() const { return *network_; }
    const NetworkWeights& weights() const { return *weights_; }
    const ScoredText& scored() const { return scored_; }
    Records& records() { return records_; }

    /// Scores of every branch against the stored weights, those that are kept first. `base`: null is the stored weights.
    /// `until`: as in SensitivityPlan. `done` is called as soon as a branch has its result, in any order. Errors: cancelled, a full disk, the reference
    /// itself cannot go forward.
    Result<void> score(const WeightChange* base, std::vector<Branch> branches,
                       const std::function<Result<void>(std::size_t branch, const BranchResult& result)>& done,
                       const Job& job, double until = 0);
    /// A text's hidden states as they enter layer 0.
    Result<HiddenStates> start(const Job& job) const;

    /// A row of a unit with its names.
    SensitivityRow rowOf(const Unit& unit, const QuantSpec* spec) const;
    /// Hands a row over, to stand at this place of the result.
    void put(std::size_t unit, std::size_t spec, SensitivityRow row);
    void put(Additivity additivity) { result_.additivity.push_back(std::move(additivity)); }
    Sensitivity result() const;

    /// ||V - W||^2 / ||W||^2 over the matrices of a unit; a refusal of the spec is an error.
    Result<std::optional<double>> nmseOf(const Unit& unit, const QuantSpec& spec, const Job& job);
    /// KL of the reference against itself in another order of sums, nats; see inAnotherOrder().
    Result<double> floor(const Job& job);
    /// KL with all units of the run changed at once.
    Result<BranchResult> allAtOnce(const QuantSpec& spec, const Job& job);
    /// The branch of a unit under a spec.
    Branch quantized(const Unit& unit, const QuantSpec& spec) const;

private:
    struct Base;
    SensitivityRun(std::shared_ptr<const Model> model, const SensitivityPlan& plan);
    Result<Base*> bordersOf(const WeightChange* base, const std::set<std::size_t>& layers, const Job& job);
    struct Active;
    struct Chunks {
        std::size_t begin, end;
    };
    Result<void> runBatch(Base& base, std::span<Active> batch, Chunks chunks, const Job& job);
    Result<void> scoreBatch(std::span<Active> batch, Chunks chunks, const Job& job);
    /// Hidden states of some chunks out of those of all.
    HiddenStates statesOf(const std::vector<float>& all, Chunks chunks) const;
    void tell(const char* what, const Job& job) const;
    Result<void> tellCost(std::size_t runs, std::size_t passes, std::size_t together, const Job& job);

    std::shared_ptr<const Model> model_;
    const SensitivityPlan& plan_;
    std::optional<Network> network_;
    std::optional<NetworkWeights> weights_;
    std::optional<Head> head_;
    ScoredText scored_;
    Records records_;
    std::vector<Unit> units_;
    std::unique_ptr<Base> reference_, other_; ///< other_: of the last call of score() with a base
    std::map<std::pair<std::size_t, std::size_t>, SensitivityRow> rows_;
    std::optional<double> floor_;
    Sensitivity result_;
    double work_ = 0, workDone_ = 0; ///< passes of a layer, for the progress
    double layerSeconds_ = 0;        ///< of the last pass of a layer of a base
};

} // namespace qs::eval
