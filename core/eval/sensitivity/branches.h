// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A network that goes forward over a text with some of its layers changed, and the scores of every such run.

#include "core/eval/forward/head.h"
#include "core/eval/sensitivity/borders.h"
#include "core/eval/sensitivity/known_runs.h"

namespace qs::eval {

class BranchRunner {
public:
    ~BranchRunner();

    const SensitivityPlan& plan() const { return plan_; }
    const Model& model() const { return *model_; }
    const Network& network() const { return *network_; }
    const NetworkWeights& weights() const { return *weights_; }
    const ScoredText& scored() const { return scored_; }
    KnownRuns& known() { return *known_; }

    /// Scores every branch against the network with its stored weights. Branches whose scores are stored come first.
    /// `base` null means the stored weights. `done` is called as soon as a branch has its result, in any order; not for
    /// a branch that is left out. `until` is that of SensitivityPlan. Errors: cancelled, a full disk, or the reference
    /// cannot be computed.
    Result<void> score(const WeightChange* base, std::vector<Branch> branches, const BranchDone& done, const Job& job,
                       double until = 0);
    /// A text's hidden states as they enter layer 0. `change`: of the embedding; null: as it is stored.
    Result<HiddenStates> start(const Job& job, const WeightChange* change = nullptr) const;

protected:
    BranchRunner(std::shared_ptr<const Model> model, const SensitivityPlan& plan);
    Result<void> readNetwork();
    /// Chooses the chunks, opens the stored results of earlier runs and loads the head.
    Result<void> prepare(const Job& job);
    std::size_t runs() const { return runs_; }
    std::size_t keptRuns() const { return known_->found(); }  ///< runs whose scores were found
    std::size_t endedRuns() const { return known_->ended(); } ///< runs that ended before the last chunk

private:
    struct Base;
    Result<Base*> bordersOf(const WeightChange* base, const std::set<std::size_t>& layers, const Job& job);
    struct Active;
    struct Chunks {
        std::size_t begin, end;
    };
    Result<void> runBatch(Base& base, std::span<Active> batch, Chunks chunks, const Job& job);
    /// The hidden states with which a branch begins.
    Result<void> begin(Base& base, Active& one, Chunks chunks, const Job& job) const;
    Result<void> scoreBatch(Base& base, std::span<Active> batch, Chunks chunks, const Job& job);
    Result<void> scoreWith(Head& head, std::span<Active* const> branches, Chunks chunks, const Job& job);
    /// Picks the hidden states of some chunks.
    HiddenStates statesOf(const std::vector<float>& all, Chunks chunks) const;
    void tell(const char* what, const Job& job) const;
    Result<void> tellCost(std::size_t runs, std::size_t passes, std::size_t together, const Job& job);

    std::shared_ptr<const Model> model_;
    const SensitivityPlan& plan_;
    std::optional<Network> network_;
    std::optional<NetworkWeights> weights_;
    std::optional<Head> head_;
    ScoredText scored_;
    std::optional<KnownRuns> known_;
    std::unique_ptr<Base> reference_, other_; ///< other_: of the last call of score() with a base
    std::size_t runs_ = 0;
    double work_ = 0, workDone_ = 0; ///< passes of a layer, for the progress
    bool isCostTold_ = false;
    double layerSeconds_ = 0; ///< of the last pass of a layer of a base
};

} // namespace qs::eval
