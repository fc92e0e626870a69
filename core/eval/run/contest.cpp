// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/contest.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

Result<Served> served(std::shared_ptr<const Model> model) {
    auto net = readNetwork(*model);
    if (!net) return tl::unexpected(net.error());
    auto weights = NetworkWeights::of(std::move(model), *net);
    if (!weights) return tl::unexpected(weights.error());
    return Served{std::move(*net), std::move(*weights)};
}

/// Puts the states of a runner through one layer, whose weights are kept or made anew. `scored`: the first position whose prediction
/// counts; the last layer computes no rows before it.
Result<void> passLayer(Runner& runner, std::size_t layer, bool keep, std::size_t scored, const Job& job) {
    Served& network = *runner.served;
    const std::size_t first = layer + 1 == network.net.layers.size() ? scored : 0;
    if (layer < runner.layers.size())
        return runner.passed(runner.states->pass(*runner.layers[layer], *network.room, job));
    auto loaded = network.weights.layer(layer, runner.inside(), job);
    if (!loaded) return runner.failed(loaded.error());
    auto prepared = std::make_unique<PreparedLayer>(network.net, std::move(*loaded), network.net.layers[layer],
                                                    *network.room, first, keep);
    if (auto done = runner.passed(runner.states->pass(*prepared, *network.room, job)); !done || !runner.reason.empty())
        return done;
    if (keep) runner.layers.push_back(std::move(prepared));
    return {};
}

/// Puts all runners of a network through its layers.
Result<void> passLayers(Served& network, std::span<Runner> runners, bool keep, std::size_t scored, const Step& step,
                        const Job& job) {
    for (std::size_t layer = 0; layer < network.net.layers.size(); ++layer)
        for (Runner& runner : runners) {
            if (runner.served != &network || !runner.reason.empty()) continue;
            step.say(layer, network.net.layers.size(), job);
            if (auto done = passLayer(runner, layer, keep, scored, job); !done) return done;
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
    if (runner.head) return {};
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

} // namespace

void Step::say(std::size_t layer, std::size_t layers, const Job& job) const {
    const std::size_t at = group * layers + layer, all = groups * layers;
    job.progress({double(at), double(all), fmt::format("Evaluating layer {}", layer), at + 1, all});
}

Result<Contest> Contest::of(std::shared_ptr<const Model> model, const EvaluationPlan& plan) {
    Contest out(plan);
    auto first = served(std::move(model));
    if (!first) return tl::unexpected(first.error());
    out.networks_.push_back(std::move(*first));
    out.runners_.resize(1 + plan.changes.size());
    for (Runner& runner : out.runners_) runner.served = &out.networks_.front();
    for (std::size_t i = 0; i < plan.changes.size(); ++i) out.enter(out.runners_[i + 1], plan.changes[i]);
    if (plan.reference && std::int64_t(plan.reference->vocabulary) != out.net().vocabulary)
        return fail(fmt::format("The reference has logits of {} tokens; the network's vocabulary has {}.",
                                plan.reference->vocabulary, out.net().vocabulary));
    return out;
}

void Contest::planFor(std::size_t chunks) {
    std::size_t roomBytes = 0;
    for (Served& network : networks_) {
        network.room = std::make_unique<PassRoom>(network.net, PassSizes(plan_.context, chunks));
        roomBytes += network.room->bytes();
    }
    std::vector<MemoryUser> users;
    for (const Runner& runner : running())
        users.push_back({&runner.served->weights, runner.inside(), runner.outside(),
                         !users.empty() && !runner.outside() && !runner.isOther()});
    memory_ = planMemory(users, net(), plan_.context, chunks, roomBytes, plan_.memory);
}

Result<void> Contest::pass(std::span<const std::int32_t> inputs, const Step& step, const Job& job) {
    for (Runner& runner : running())
        if (runner.reason.empty())
            if (auto done = embed(runner, inputs, plan_.context, job); !done) return done;
    for (Served& network : networks_)
        if (auto done = passLayers(network, running(), memory_.keepsWeights, firstScored(plan_.scored, plan_.context),
                                   step, job);
            !done)
            return done;
    for (Runner& runner : running())
        if (runner.reason.empty())
            if (auto done = loadHead(runner, job); !done) return done;
    return {};
}

void Contest::leaveGroup() {
    if (memory_.keepsWeights) return;
    for (Runner& runner : runners_) runner.head.reset();
    for (Served& network : networks_) network.head.reset();
}

void Contest::enter(Runner& runner, const WeightChange& change) {
    runner.change = &change;
    if (!change.network) return;
    auto other = served(change.network);
    if (!other) {
        runner.reason = other.error().sentence();
        return;
    }
    if (other->net.vocabulary != net().vocabulary)
        runner.reason = fmt::format("Its vocabulary has {} tokens, that of the reference {}.", other->net.vocabulary,
                                    net().vocabulary);
    else if (auto fits = checkTokens({}, plan_.context, other->net); !fits)
        runner.reason = fits.error().sentence();
    networks_.push_back(std::move(*other));
    runner.served = &networks_.back();
}

} // namespace qs::eval
