// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/evaluate.h"

#include "core/eval/forward/head.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// A network whose hidden states go forward beside the others.
struct Runner {
    const WeightChange* change = nullptr; ///< null: the reference
    std::optional<HiddenStates> states;
    std::string reason; ///< not empty: it has fallen out
};

Result<void> passLayers(const Network& net, const NetworkWeights& weights, std::vector<Runner>& runners,
                        const Job& job) {
    for (std::size_t layer = 0; layer < net.layers.size(); ++layer) {
        for (Runner& runner : runners) {
            if (!runner.reason.empty()) continue;
            job.progress({double(layer), double(net.layers.size()), fmt::format("Evaluating layer {}", layer),
                          layer + 1, net.layers.size()});
            const auto loaded = weights.layer(layer, runner.change, job);
            if (!loaded && (loaded.error().cancelled || !runner.change)) return tl::unexpected(loaded.error());
            if (!loaded) {
                runner.reason = loaded.error().message;
                runner.states.reset();
                continue;
            }
            if (auto done = runner.states->pass(*loaded, net.layers[layer], job); !done) return done;
        }
    }
    return {};
}

} // namespace

Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job) {
    auto net = readNetwork(*model);
    if (!net) return tl::unexpected(net.error());
    const auto weights = NetworkWeights::of(model, *net);
    if (!weights) return tl::unexpected(weights.error());
    const auto scored = scoredText(plan.text.tokens, plan.context, plan.chunks, plan.scored, *net);
    if (!scored) return tl::unexpected(scored.error());
    const std::size_t inputs = scored->inputs;

    const auto embedded = weights->embed(std::span(plan.text.tokens).first(inputs), plan.context, nullptr, job);
    if (!embedded) return tl::unexpected(embedded.error());
    std::vector<Runner> runners(1 + plan.changes.size());
    for (std::size_t i = 0; i < runners.size(); ++i) {
        if (i > 0) runners[i].change = &plan.changes[i - 1];
        runners[i].states.emplace(*net, *embedded, plan.context);
    }
    if (auto done = passLayers(*net, *weights, runners, job); !done) return tl::unexpected(done.error());

    auto head = Head::load(*net, *weights, job);
    if (!head) return tl::unexpected(head.error());
    const auto vocabulary = std::size_t(net->vocabulary);
    Evaluation out;
    out.tokens = inputs, out.chunks = scored->chunks;
    const auto& ranges = scored->ranges;
    out.scores.resize(plan.changes.size()), out.reasons.resize(plan.changes.size());
    std::vector<float> reference, other;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        job.progress({double(r), double(ranges.size()), "Comparing logits", r + 1, ranges.size()});
        for (std::size_t first = ranges[r].begin; first < ranges[r].end; first += kLogitRows) {
            const std::size_t count = std::min(kLogitRows, ranges[r].end - first);
            if (!(*head)(*runners[0].states, first, count, reference, job)) return cancelledError();
            for (std::size_t i = 0; i < plan.changes.size(); ++i) {
                if (!runners[i + 1].reason.empty()) continue;
                if (!(*head)(*runners[i + 1].states, first, count, other, job)) return cancelledError();
                compareLogits(plan.text.tokens, plan.context, ranges[r].chunk, first, count, vocabulary, reference,
                              other, out.scores[i]);
                if (plan.arrived) plan.arrived(i, std::span(out.scores[i]).last(count));
            }
        }
    }
    for (std::size_t i = 0; i < plan.changes.size(); ++i) out.reasons[i] = runners[i + 1].reason;
    return out;
}

Result<std::vector<float>> logitsOf(std::shared_ptr<const Model> model, std::span<const std::int32_t> tokens,
                                    std::size_t context, const Job& job) {
    auto net = readNetwork(*model);
    if (!net) return tl::unexpected(net.error());
    const auto weights = NetworkWeights::of(model, *net);
    if (!weights) return tl::unexpected(weights.error());
    if (auto checked = checkTokens(tokens, context, *net); !checked) return tl::unexpected(checked.error());
    auto embedded = weights->embed(tokens, context, nullptr, job);
    if (!embedded) return tl::unexpected(embedded.error());
    std::vector<Runner> runner(1);
    runner.front().states.emplace(*net, std::move(*embedded), context);
    if (auto done = passLayers(*net, *weights, runner, job); !done) return tl::unexpected(done.error());
    auto head = Head::load(*net, *weights, job);
    if (!head) return tl::unexpected(head.error());
    std::vector<float> out, rows;
    for (std::size_t first = 0; first < tokens.size(); first += kLogitRows) {
        const std::size_t count = std::min(kLogitRows, tokens.size() - first);
        if (!(*head)(*runner.front().states, first, count, rows, job)) return cancelledError();
        out.insert(out.end(), rows.begin(), rows.begin() + std::ptrdiff_t(count * std::size_t(net->vocabulary)));
    }
    return out;
}

} // namespace qs::eval
