// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/evaluate.h"

#include "core/eval/forward/head.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <fmt/format.h>
#include <list>

namespace qs::eval {
namespace {

/// A network with its weights: the one that is evaluated, or another that is compared with it.
struct Served {
    Network net;
    NetworkWeights weights;
    std::shared_ptr<Head> head = nullptr; ///< as it is stored; loaded when it is asked for
};

/// A network whose hidden states go forward beside the others.
struct Runner {
    const WeightChange* change = nullptr; ///< null: the reference
    Served* served = nullptr;
    std::optional<HiddenStates> states;
    std::shared_ptr<Head> head;
    std::string reason; ///< not empty: it has fallen out

    /// The change of the embedding and of the head.
    const WeightChange* outside() const { return change && change->everywhere ? change : nullptr; }
    /// What `change` says of layers.
    const WeightChange* inside() const { return change && !change->network ? change : nullptr; }
    /// The error, where it ends the evaluation; else this runner falls out.
    Result<void> failed(const Error& error) {
        if (error.cancelled || !change) return tl::unexpected(error);
        reason = error.sentence(), states.reset();
        return {};
    }
};

Result<Served> served(std::shared_ptr<const Model> model) {
    auto net = readNetwork(*model);
    if (!net) return tl::unexpected(net.error());
    auto weights = NetworkWeights::of(std::move(model), *net);
    if (!weights) return tl::unexpected(weights.error());
    return Served{std::move(*net), std::move(*weights)};
}

/// Puts all runners of a network through its layers.
Result<void> passLayers(const Served& network, std::span<Runner> runners, const Job& job) {
    const auto layers = network.net.layers.size();
    for (std::size_t layer = 0; layer < layers; ++layer)
        for (Runner& runner : runners) {
            if (runner.served != &network || !runner.reason.empty()) continue;
            job.progress({double(layer), double(layers), fmt::format("Evaluating layer {}", layer), layer + 1, layers});
            const auto loaded = network.weights.layer(layer, runner.inside(), job);
            if (!loaded) {
                if (auto done = runner.failed(loaded.error()); !done) return done;
                continue;
            }
            if (auto done = runner.states->pass(*loaded, network.net.layers[layer], job); !done) return done;
        }
    return {};
}

Result<void> embed(Runner& runner, std::span<const std::int32_t> tokens, std::size_t context, const Job& job) {
    auto embedded = runner.served->weights.embed(tokens, context, runner.outside(), job);
    if (!embedded) return runner.failed(embedded.error());
    runner.states.emplace(runner.served->net, std::move(*embedded), context);
    return {};
}

Result<void> loadHead(Runner& runner, const Job& job) {
    Served& network = *runner.served;
    if (!runner.outside() && network.head) {
        runner.head = network.head;
        return {};
    }
    auto head = Head::load(network.net, network.weights, runner.outside(), job);
    if (!head) return runner.failed(head.error());
    runner.head = std::make_shared<Head>(std::move(*head));
    if (!runner.outside()) network.head = runner.head;
    return {};
}

/// All networks of a plan: the first is the one that is evaluated. Runners: the reference, then the changes.
class Contest {
public:
    static Result<Contest> of(std::shared_ptr<const Model> model, const EvaluationPlan& plan) {
        Contest out;
        auto first = served(std::move(model));
        if (!first) return tl::unexpected(first.error());
        out.networks_.push_back(std::move(*first));
        out.runners_.resize(1 + plan.changes.size());
        for (Runner& runner : out.runners_) runner.served = &out.networks_.front();
        for (std::size_t i = 0; i < plan.changes.size(); ++i) out.enter(out.runners_[i + 1], plan.changes[i], plan);
        if (plan.reference && std::int64_t(plan.reference->vocabulary) != out.net().vocabulary)
            return fail(fmt::format("The reference has logits of {} tokens; the network's vocabulary has {}.",
                                    plan.reference->vocabulary, out.net().vocabulary));
        return out;
    }
    const Network& net() const { return networks_.front().net; }
    std::vector<LayerMatrix> matrices() const { return networks_.front().weights.matrices(); }
    std::vector<Runner>& runners() { return runners_; }

    /// Loads and passes all that is not read from elsewhere.
    Result<void> pass(std::span<const std::int32_t> inputs, const EvaluationPlan& plan, const Job& job) {
        const std::span<Runner> running = std::span(runners_).subspan(plan.reference ? 1 : 0);
        for (Runner& runner : running)
            if (runner.reason.empty())
                if (auto done = embed(runner, inputs, plan.context, job); !done) return done;
        for (Served& network : networks_)
            if (auto done = passLayers(network, running, job); !done) return done;
        for (Runner& runner : running)
            if (runner.reason.empty())
                if (auto done = loadHead(runner, job); !done) return done;
        return {};
    }

private:
    void enter(Runner& runner, const WeightChange& change, const EvaluationPlan& plan) {
        runner.change = &change;
        if (!change.network) return;
        auto other = served(change.network);
        if (!other) {
            runner.reason = other.error().sentence();
            return;
        }
        if (other->net.vocabulary != net().vocabulary)
            runner.reason = fmt::format("Its vocabulary has {} tokens, that of the reference {}.",
                                        other->net.vocabulary, net().vocabulary);
        else if (auto fits = checkTokens({}, plan.context, other->net); !fits)
            runner.reason = fits.error().sentence();
        networks_.push_back(std::move(*other));
        runner.served = &networks_.back();
    }

    std::list<Served> networks_; ///< their addresses stay
    std::vector<Runner> runners_;
};

/// Compares the logits of scored tokens as they come.
class Comparison {
public:
    Comparison(const EvaluationPlan& plan, Contest& contest, Evaluation& out)
        : plan_(plan), runners_(contest.runners()), vocabulary_(std::size_t(contest.net().vocabulary)), out_(out) {}

    /// Predictions after `count` inputs from `first` on, at most kLogitRows, of one chunk.
    Result<void> compare(std::size_t chunk, std::size_t first, std::size_t count, const Job& job) {
        if (auto done = readReference(first, count, job); !done) return done;
        LogitRows rows{row_,
                       std::span(plan_.text.tokens).subspan(first + 1, count),
                       std::span(reference_).first(count * vocabulary_),
                       {},
                       {}};
        if (auto done = show(rows); !done) return done;
        for (std::size_t i = 0; i < plan_.changes.size(); ++i) {
            Runner& runner = runners_[i + 1];
            if (!runner.reason.empty()) continue;
            if (!(*runner.head)(*runner.states, first, count, other_, job)) return cancelledError();
            compareLogits(plan_.text.tokens, plan_.context, chunk, first, count, vocabulary_, reference_, other_,
                          out_.scores[i]);
            rows.change = i, rows.other = std::span(other_).first(count * vocabulary_);
            if (auto done = show(rows); !done) return done;
            if (plan_.arrived) plan_.arrived(i, std::span(out_.scores[i]).last(count));
        }
        row_ += count;
        return {};
    }

private:
    Result<void> readReference(std::size_t first, std::size_t count, const Job& job) {
        reference_.resize(kLogitRows * vocabulary_);
        if (plan_.reference)
            return plan_.reference->read(row_, count, std::span(reference_).first(count * vocabulary_));
        if (!(*runners_[0].head)(*runners_[0].states, first, count, reference_, job)) return cancelledError();
        return {};
    }
    Result<void> show(const LogitRows& rows) const { return plan_.compared ? plan_.compared(rows) : Result<void>(); }

    const EvaluationPlan& plan_;
    std::vector<Runner>& runners_;
    std::size_t vocabulary_, row_ = 0;
    std::vector<float> reference_, other_;
    Evaluation& out_;
};

} // namespace

Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job) {
    auto contest = Contest::of(std::move(model), plan);
    if (!contest) return tl::unexpected(contest.error());
    const auto scored = scoredText(plan.text.tokens, plan.context, plan.chunks, plan.scored, contest->net());
    if (!scored) return tl::unexpected(scored.error());
    const auto inputs = inputsOf(plan.text, scored->inputs, plan.context);
    if (auto fine = checkTokens(inputs, plan.context, contest->net()); !fine) return tl::unexpected(fine.error());
    if (auto done = contest->pass(inputs, plan, job); !done) return tl::unexpected(done.error());

    Evaluation out;
    out.tokens = scored->inputs, out.chunks = scored->chunks;
    out.scores.resize(plan.changes.size());
    for (const LayerMatrix& matrix : contest->matrices()) {
        const TensorInfo& tensor = *matrix.tensor;
        ++out.matrices;
        out.quantizedMatrices += tensor.packed || (tensor.derived && tensor.derived->parts().size() > 1);
    }
    Comparison comparison(plan, *contest, out);
    const auto& ranges = scored->ranges;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        job.progress({double(r), double(ranges.size()), "Comparing logits", r + 1, ranges.size()});
        for (std::size_t first = ranges[r].begin; first < ranges[r].end; first += kLogitRows) {
            const std::size_t count = std::min(kLogitRows, ranges[r].end - first);
            if (auto done = comparison.compare(ranges[r].chunk, first, count, job); !done)
                return tl::unexpected(done.error());
        }
    }
    for (const Runner& runner : std::span(contest->runners()).subspan(1)) out.reasons.push_back(runner.reason);
    return out;
}

Result<std::vector<float>> logitsOf(std::shared_ptr<const Model> model, std::span<const std::int32_t> tokens,
                                    std::size_t context, const Job& job) {
    EvaluationPlan plan;
    plan.context = context;
    auto contest = Contest::of(std::move(model), plan);
    if (!contest) return tl::unexpected(contest.error());
    if (auto checked = checkTokens(tokens, context, contest->net()); !checked) return tl::unexpected(checked.error());
    if (auto done = contest->pass(tokens, plan, job); !done) return tl::unexpected(done.error());
    Runner& runner = contest->runners().front();
    std::vector<float> out, rows;
    for (std::size_t first = 0; first < tokens.size(); first += kLogitRows) {
        const std::size_t count = std::min(kLogitRows, tokens.size() - first);
        if (!(*runner.head)(*runner.states, first, count, rows, job)) return cancelledError();
        out.insert(out.end(), rows.begin(),
                   rows.begin() + std::ptrdiff_t(count * std::size_t(contest->net().vocabulary)));
    }
    return out;
}

} // namespace qs::eval
