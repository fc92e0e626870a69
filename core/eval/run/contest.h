// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The networks of an evaluation, which go forward side by side.

#include "core/eval/forward/head.h"
#include "core/eval/network/served_matrix.h"
#include "core/eval/run/evaluate.h"
#include "core/eval/run/memory_plan.h"

#include <list>

namespace qs::eval {

/// A network with its weights: the one that is evaluated, or another that is compared with it.
struct Served {
    Network net;
    NetworkWeights weights;
    std::unique_ptr<PassRoom> room = nullptr;
    std::shared_ptr<Head> head = nullptr; ///< as it is stored; loaded when it is asked for
};

/// A network whose hidden states go forward beside the others.
struct Runner {
    const WeightChange* change = nullptr; ///< null: the reference
    Served* served = nullptr;
    std::optional<HiddenStates> states;
    std::vector<std::unique_ptr<PreparedLayer>> layers; ///< those that are kept
    std::shared_ptr<Head> head;
    std::string reason; ///< not empty: it has fallen out

    /// The change of the embedding and of the head.
    const WeightChange* outside() const { return change && change->everywhere ? change : nullptr; }
    /// What `change` says of layers.
    const WeightChange* inside() const { return change && !change->network ? change : nullptr; }
    bool isOther() const { return change && change->network; }
    /// What a pass has returned. Where a server has failed and the job was not cancelled: its failure.
    Result<void> passed(Result<void> done) {
        const auto failure = !done && change && change->server ? change->server->failure() : std::nullopt;
        return failure ? failed(*failure) : done ? done : failed(done.error());
    }
    /// The error, where it ends the evaluation; else this runner falls out.
    Result<void> failed(const Error& error) {
        if (error.cancelled || !change) return tl::unexpected(error);
        reason = error.sentence(), states.reset(), layers.clear(), head.reset();
        return {};
    }
};

/// Where an evaluation is, for people.
struct Step {
    std::size_t group = 0, groups = 1;
    void say(std::size_t layer, std::size_t layers, const Job& job) const;
};

/// All networks of a plan: the first is the one that is evaluated. Runners: the reference, then the changes.
class Contest {
public:
    /// `plan` must outlive it.
    static Result<Contest> of(std::shared_ptr<const Model> model, const EvaluationPlan& plan);
    const Network& net() const { return networks_.front().net; }
    std::vector<LayerMatrix> matrices() const { return networks_.front().weights.matrices(); }
    std::vector<Runner>& runners() { return runners_; }

    /// Decides what is in memory together: chunks of a group, and whether weights are kept.
    void planFor(std::size_t chunks);
    std::size_t chunksOfGroup() const { return memory_.chunksOfGroup; }
    /// Loads and passes all that is not read from elsewhere, for one group of chunks.
    Result<void> pass(std::span<const std::int32_t> inputs, const Step& step, const Job& job);
    /// After the logits of a group: frees what is not kept.
    void leaveGroup();

private:
    explicit Contest(const EvaluationPlan& plan) : plan_(plan) {}
    /// All but a reference that is read from elsewhere.
    std::span<Runner> running() { return std::span(runners_).subspan(plan_.reference ? 1 : 0); }
    void enter(Runner& runner, const WeightChange& change);

    const EvaluationPlan& plan_;
    MemoryPlan memory_;
    std::list<Served> networks_; ///< their addresses stay
    std::vector<Runner> runners_;
};

} // namespace qs::eval
